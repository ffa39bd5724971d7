-- The questions of the server (agentls/approve, agentls/elicit), one at a time. Whatever is no clear yes is a no.
local text = require("agentls.question")

local M = {}

---@class agentls.Question
---@field params agentls.ApproveParams|agentls.ElicitParams
---@field client_id integer
---@field answer fun(result: agentls.ApproveResult) called once
---@field settled boolean it was called
---@field close fun() takes the window with the details away
---@field blocking boolean vim.ui was called and has not returned: it waits for keys, as Neovim's own does

---@class agentls.Choice
---@field title string
---@field decision "once"|"session"|"always"|"deny"
---@field revise? boolean another plan is wanted, and it is asked what should be different

-- The first is the safe one.
local choices = {
  { title = "Deny", decision = "deny" },
  { title = "Allow once", decision = "once" },
  { title = "Allow for this session", decision = "session" },
  { title = "Always allow", decision = "always" },
}

local trust_server = { { title = "Not now", decision = "deny" }, { title = "Trust and start", decision = "always" } }
local trust_folder = { { title = "Not now", decision = "deny" }, { title = "Trust folder", decision = "always" } }
local trust_change = { { title = "Not now", decision = "deny" }, { title = "Apply", decision = "once" } }

local plan = {
  { title = "Stop", decision = "deny" },
  { title = "Run plan", decision = "once" },
  { title = "Another plan…", decision = "deny", revise = true },
}

local closed = { decision = "deny", reason = "closed" } ---@type agentls.ApproveResult

local queue = {} ---@type agentls.Question[]
local active ---@type agentls.Question?
local polling = false

---@param params agentls.ApproveParams
---@return agentls.Choice[]
local function choices_of(params)
  if params.kind == "plan" then
    return plan
  end
  if params.kind ~= "trust" then
    return vim.tbl_filter(function(choice)
      return not params.decisions or vim.list_contains(params.decisions, choice.decision)
    end, choices)
  end
  if text.is_change(params) then
    return trust_change
  end
  return text.known(params.server) and trust_server or trust_folder
end

local show_next

local modes = { n = true, nt = true }

-- A question must not catch keys that are meant for a text or a command line.
local function wait_for_normal_mode()
  if polling then
    return
  end
  polling = true
  require("agentls.client").notify("a question waits for you; leave this mode to see it", vim.log.levels.INFO)
  local timer = assert(vim.uv.new_timer())
  timer:start(100, 100, vim.schedule_wrap(function()
    if polling and (#queue == 0 or modes[vim.api.nvim_get_mode().mode]) then
      polling = false
      timer:close()
      show_next()
    end
  end))
end

---@param question agentls.Question
---@param result agentls.ApproveResult
---@return boolean ok false: somebody was faster
local function settle(question, result)
  if question.settled then
    return false
  end
  question.settled = true
  question.close()
  question.answer(result)
  if active == question then
    active = nil
    vim.schedule(show_next)
  end
  return true
end

---@param question agentls.Question
---@param on_result fun(result?: agentls.ApproveResult)
local function ask_decision(question, on_result)
  local params = question.params --[[@as agentls.ApproveParams]]
  local prompt, whole = text.title(params)
  local shown, close = pcall(text.show_details, params, whole) -- a tiny screen may have no room
  question.close = shown and close or question.close
  vim.ui.select(choices_of(params), {
    prompt = prompt,
    kind = "agentls_approve",
    format_item = function(choice)
      local remembered = choice.decision == "session" or choice.decision == "always"
      local covers = params.kind ~= "trust" and remembered and text.known(params.covers)
      return covers and ("%s: %s"):format(choice.title, text.plain(covers)) or choice.title
    end,
  }, function(choice)
    if not (choice and choice.revise) then
      return on_result(choice and { decision = choice.decision })
    end
    vim.ui.input({ prompt = "What should be different? " }, function(note)
      on_result(note and { decision = "deny", content = { decision = "revise", note = note } })
    end)
  end)
end

function show_next()
  if active or #queue == 0 then
    return
  end
  if not modes[vim.api.nvim_get_mode().mode] then
    return wait_for_normal_mode()
  end
  local question = table.remove(queue, 1)
  active = question
  local function on_result(result)
    result = result or { decision = "deny", reason = "dismissed" }
    if not settle(question, result) and result.decision ~= "deny" then
      require("agentls.client").notify("the question was closed, nothing was allowed", vim.log.levels.INFO)
    end
  end
  question.blocking = true
  local ok, err = pcall(question.params.mode and require("agentls.elicit").ask or ask_decision, question, on_result)
  question.blocking = false
  if not ok then -- Ctrl-C, or a select of a plugin that fails
    on_result(nil)
    if not tostring(err):find("Keyboard interrupt", 1, true) then
      require("agentls.client").notify("the question could not be shown: " .. tostring(err))
    end
  end
end

---Closes the questions that match: the server does not wait for them any more.
---@param matches fun(question: agentls.Question): boolean
function M.drop(matches)
  local dropped = vim.tbl_filter(matches, vim.list_extend({ active }, queue))
  queue = vim.tbl_filter(function(question)
    return not matches(question)
  end, queue)
  for _, question in ipairs(dropped) do
    local shown = question.blocking and not question.settled
    settle(question, closed)
    if shown and vim.api.nvim_get_mode().mode == "c" then
      vim.api.nvim_input("<Esc>")
    end
  end
end

---The server cancels one of its requests. Neovim does not tell handlers the ids of theirs, and of questions about
---runs the events tell: so this is about the only other question, if there is but one.
function M.on_cancel()
  local others = vim.tbl_filter(function(question)
    return not text.known(question.params.runId)
  end, vim.list_extend({ active }, queue))
  if #others == 1 then
    M.drop(function(question)
      return question == others[1]
    end)
  end
end

---Handles the requests agentls/approve and agentls/elicit; the answer comes when the person has chosen.
---@param params agentls.ApproveParams|agentls.ElicitParams
---@return agentls.ApproveResult
function M.on_request(_, params, ctx)
  local co = coroutine.running()
  table.insert(queue, {
    params = params,
    client_id = ctx.client_id,
    settled = false,
    blocking = false,
    close = function() end,
    answer = function(result)
      vim.schedule(function()
        assert(coroutine.resume(co, result))
      end)
    end,
  })
  vim.schedule(show_next) -- after the yield
  return coroutine.yield()
end

return M
