-- The questions of the server (agentls/approve), one at a time. Whatever is no clear yes is a no.
local M = {}

---@class agentls.Question
---@field params agentls.ApproveParams
---@field client_id integer
---@field answer fun(result: agentls.ApproveResult) called once
---@field settled boolean it was called
---@field close fun() takes the window with the details away
---@field blocking boolean vim.ui.select was called and has not returned: it waits for keys, as Neovim's own does

---@class agentls.Choice
---@field title string
---@field decision "once"|"session"|"always"|"deny"

-- The first is the safe one.
local choices = {
  { title = "Deny", decision = "deny" },
  { title = "Allow once", decision = "once" },
  { title = "Allow for this session", decision = "session" },
  { title = "Always allow", decision = "always" },
}

local trust_server = { { title = "Not now", decision = "deny" }, { title = "Trust and start", decision = "always" } }
local trust_folder = { { title = "Not now", decision = "deny" }, { title = "Trust folder", decision = "always" } }

local closed = { decision = "deny", reason = "closed" } ---@type agentls.ApproveResult

local queue = {} ---@type agentls.Question[]
local active ---@type agentls.Question?
local polling = false

---One line, no control characters.
---@param text any
---@return string
local function plain(text)
  return (tostring(text):gsub("%c+", " "))
end

---@param value any
---@return any
local function known(value)
  return value ~= vim.NIL and value ~= "" and value or nil
end

---@param params agentls.ApproveParams
---@return string
local function subject(params)
  local names = {}
  for _, name in ipairs({ "server", "tool" }) do
    names[#names + 1] = known(params[name])
  end
  return #names > 0 and plain(table.concat(names, "/")) or "this folder"
end

---@param params agentls.ApproveParams
---@return agentls.Choice[]
local function choices_of(params)
  if params.kind ~= "trust" then
    return choices
  end
  return known(params.server) and trust_server or trust_folder
end

---What the question is about, whole.
---@param params agentls.ApproveParams
---@return string[]
local function details(params)
  local lines = {}
  local function add(name, value)
    value = type(value) == "string" and value or vim.json.encode(value)
    local parts = vim.split(value, "\n", { plain = true })
    lines[#lines + 1] = ("%s: %s"):format(name, #parts == 1 and parts[1] or "")
    if #parts > 1 then
      vim.list_extend(lines, vim.tbl_map(function(part)
        return "  " .. part
      end, parts))
    end
  end
  for _, name in ipairs({ "reason", "description" }) do
    if known(params[name]) then
      add(name, params[name])
    end
  end
  local arguments = known(params.arguments)
  if type(arguments) == "table" and not vim.islist(arguments) then
    for name, value in vim.spairs(arguments) do
      add(plain(name), value)
    end
  elseif arguments and not vim.deep_equal(arguments, {}) then
    add("arguments", arguments)
  end
  return lines
end

---@param params agentls.ApproveParams
---@return string
---@return boolean whole nothing was left out
local function title(params)
  local text = subject(params)
  if params.kind == "trust" then
    return ("Trust %s?"):format(text), false
  end
  local arguments = known(params.arguments)
  if arguments and not vim.deep_equal(arguments, {}) then
    text = text .. " " .. vim.json.encode(arguments)
  end
  local short = vim.fn.strcharpart(plain(text), 0, 120)
  local whole = short == text
  return ("Run %s%s?%s"):format(
    short,
    whole and "" or "…",
    params.definitionChanged == true and " Its definition has changed since you allowed it." or ""
  ), whole
end

---A window above everything with what the question's line cannot hold.
---@param params agentls.ApproveParams
---@param whole boolean the line holds all
---@return fun() close
local function show_details(params, whole)
  local lines = whole and {} or details(params)
  if #lines == 0 then
    return function() end
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  local width = math.max(vim.o.columns - 4, 20)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  local height = math.min(rows, math.max(vim.o.lines - 10, 3))
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = 0,
    col = 1,
    width = width,
    height = height,
    border = "rounded",
    title = (" %s "):format(subject(params)),
    footer = rows > height and (" %d more lines are not shown "):format(rows - height) or "",
    style = "minimal",
  })
  vim.wo[win].wrap = true
  vim.cmd.redraw()
  return function()
    if vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
  end
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

function show_next()
  if active or #queue == 0 then
    return
  end
  if not modes[vim.api.nvim_get_mode().mode] then
    return wait_for_normal_mode()
  end
  local question = table.remove(queue, 1)
  active = question
  local prompt, whole = title(question.params)
  local shown, close = pcall(show_details, question.params, whole) -- a tiny screen may have no room
  question.close = shown and close or question.close
  local function on_choice(choice)
    local result = choice and { decision = choice.decision } or { decision = "deny", reason = "dismissed" }
    if not settle(question, result) and result.decision ~= "deny" then
      require("agentls.client").notify("the question was closed, nothing was allowed", vim.log.levels.INFO)
    end
  end
  question.blocking = true
  local ok, err = pcall(vim.ui.select, choices_of(question.params), {
    prompt = prompt,
    kind = "agentls_approve",
    format_item = function(choice)
      return choice.title
    end,
  }, on_choice)
  question.blocking = false
  if not ok then -- Ctrl-C, or a select of a plugin that fails
    on_choice(nil)
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
    return not known(question.params.runId)
  end, vim.list_extend({ active }, queue))
  if #others == 1 then
    M.drop(function(question)
      return question == others[1]
    end)
  end
end

---Handles the request agentls/approve; the answer comes when the person has chosen.
---@param params agentls.ApproveParams
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
