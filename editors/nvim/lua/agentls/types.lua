---@meta
-- The wire, as in CONTRACT.md: mirrors lsp/command.go. Only types; never loaded.

---@alias agentls.Status "queued"|"running"|"waiting"|"completed"|"stopped"|"failed"|"cancelled"

---@class (exact) agentls.AskArguments
---@field prompt? string
---@field action? "fix"|"explain"|"rewrite"|"test"|"document"
---@field mode? "react"|"plan"|"team"
---@field session? string
---@field document? {uri: string, range?: lsp.Range, version?: integer, diagnostics?: lsp.Diagnostic[]}
---@field runId? string

---@class (exact) agentls.SendArguments
---@field uri string
---@field position? lsp.Position
---@field stream? boolean

---@class agentls.RunResult
---@field runId string
---@field session string
---@field status agentls.Status "queued" or "running" when detached
---@field text? string
---@field stopReason? string
---@field note? string

---@class agentls.RunEvent
---@field runId string
---@field session string
---@field seq integer
---@field kind "queued"|"started"|"mention"|"text"|"reasoning"|"plan"|"toolCall"|"approval"|"usage"|"finished"
---@field delta? string of text and reasoning
---@field toolCall? {id: string, tool: string, server?: string, state: string}
---@field approval? {id: string, kind: string, server?: string, tool: string, state: "open"|"resolved"}
---@field status? agentls.Status of finished
---@field error? {message: string, kind: string, retryable: boolean} of finished
---@field changed? {uri: string, saved: boolean}[] of finished: files that the run changed

---@class agentls.ApproveParams
---@field id string
---@field kind "tool"|"plan"|"elicit"|"sample"|"trust"|"input"
---@field runId? string
---@field session? string
---@field server? string
---@field tool? string
---@field description? string
---@field arguments? any
---@field reason? string
---@field definitionChanged? boolean
---@field covers? string what "session" and "always" allow from then on; empty: they count as "once"
---@field decisions? ("deny"|"once"|"session"|"always")[] those that make sense
---@field preview? {path: string, added: integer, removed: integer, diff: string} what the call would change
---@field part? string what of the run asks, such as "step 1"; none: the run itself
---@field plan? {plan: integer, steps: agentls.PlanStep[]} what a question of the kind "plan" is about

---@class agentls.PlanStep
---@field id string
---@field title string
---@field task string
---@field dependsOn string[] ids of steps that must be done before

---@class agentls.ElicitParams
---@field id string
---@field kind "elicit"|"input"
---@field runId? string
---@field session? string
---@field server? string
---@field message string
---@field mode "form"|"url"
---@field fields? agentls.Field[] of a form, in its order
---@field url? string of a link; the server opens it after a yes
---@field host? string of the link
---@field opened? boolean the link was opened before: a yes says that what it is for is done
---@field problem? string what was wrong with the answer before

---@class agentls.Field
---@field name string
---@field title? string
---@field description? string
---@field kind "string"|"number"|"integer"|"boolean"|"enum"|"enums"|"list"
---@field hint? string
---@field required boolean
---@field secret boolean
---@field options? {value: string|number|boolean, title: string}[]
---@field default? any

---@class agentls.UndoResult
---@field restored string[] URIs
---@field refused {uri: string, reason: string}[]
---@field untracked string[] tools

---@class agentls.Found
---@field provider string
---@field title string
---@field baseURL string
---@field models string[]
---@field model? string that is configured
---@field keyVariable? string where its key is from
---@field inForce? boolean
---@field error? string why it does not tell its models, and what to do

---@class agentls.Preset
---@field provider string
---@field title string
---@field baseURL? string none: each account has its own
---@field keyVariables? string[] where its key is looked for; none: it runs on this machine and wants none

---@class agentls.SetupFound
---@field found agentls.Found[]
---@field presets agentls.Preset[] all well-known providers, found or not
---@field config string the path of the user's file

---@class agentls.SetupResult
---@field provider string
---@field model string
---@field config string
---@field inForce {provider: string, model?: string, error?: string}
---@field warning? string

---@class (exact) agentls.ApproveResult
---@field decision "once"|"session"|"always"|"deny"
---@field reason? string
---@field content? table<string, any> the answer to agentls/elicit
