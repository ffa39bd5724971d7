-- The plugin works without setup(); options are in vim.g.agentls (see config.lua).
local M = {}

---@param options? table merged into vim.g.agentls
function M.setup(options)
  vim.g.agentls = vim.tbl_deep_extend("force", vim.g.agentls or {}, options or {})
end

---Asks in a session of its own, or in the session of the answer in this window.
---@param prompt string
---@param lines? {[1]: integer, [2]: integer} first and last line, from 1, of this buffer to attach
function M.ask(prompt, lines)
  require("agentls.answer").ask(prompt, lines)
end

---Sends the prompt at the cursor of this prompt buffer; the server writes the answer below it.
function M.send()
  require("agentls.prompt").send()
end

---Cancels the newest run.
function M.cancel()
  require("agentls.run").cancel()
end

---Takes back what a run changed in files.
---@param id? string a run's; without it the one that ended last in this editor
function M.undo(id)
  require("agentls.undo").undo(id)
end

---Shows what the server logged.
function M.log()
  require("agentls.log").open()
end

return M
