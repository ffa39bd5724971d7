-- The runs that this editor started, from the request to its end.
local client = require("agentls.client")

local M = {}

---@class agentls.Run
---@field token string of its progress
---@field client vim.lsp.Client
---@field request integer
---@field id? string runId, as soon as it is known
---@field session? string
---@field status agentls.Status
---@field note string the last words of its progress
---@field detached boolean its command was answered, it goes on
---@field questions integer how many of its questions are open
---@field view agentls.View

---What shows a run.
---@class agentls.View
---@field buf integer
---@field update fun(run: agentls.Run) its state changed
---@field text? fun(run: agentls.Run, delta: string) a piece of the answer
---@field pause? fun() a tool is called: what was said is a paragraph of its own
---@field finish fun(run: agentls.Run, result: agentls.RunResult?) it has ended; not nil: with a result

local runs = {} ---@type agentls.Run[] the newest last
local count = 0
local last ---@type agentls.Run? the one that ended last

---@return string a new id of 32 hexadecimal digits
function M.new_id()
  count = count + 1
  return vim.fn.sha256(("%d %d %d"):format(vim.uv.os_getpid(), vim.uv.hrtime(), count)):sub(1, 32)
end

---@param run agentls.Run
---@param status agentls.Status
---@param result? agentls.RunResult
---@param note? string why it failed or was stopped
local function finish(run, status, result, note)
  for i, known in ipairs(runs) do
    if known == run then
      table.remove(runs, i)
      run.status, run.note = status, note or ""
      last = run.id and run or last
      require("agentls.approve").drop(function(question)
        return run.id ~= nil and question.params.runId == run.id
      end)
      run.view.finish(run, result)
      if status == "failed" then
        client.notify(run.note)
      end
      return
    end
  end
end

---@param run agentls.Run
---@param err lsp.ResponseError?
---@param result agentls.RunResult?
local function answered(run, err, result)
  if err then
    return finish(run, "failed", nil, err.message)
  end
  result = result or { status = "completed" }
  run.id, run.session = result.runId or run.id, result.session or run.session
  if result.status == "queued" or result.status == "running" then
    run.detached, run.status = true, result.status
    return run.view.update(run)
  end
  finish(run, result.status, result, result.status == "stopped" and (result.note or result.stopReason) or nil)
end

-- Neovim drops the answer of a cancelled request, but tells when the request is over.
local function on_request(ev)
  if ev.data.request.type ~= "complete" then
    return
  end
  for _, run in ipairs(runs) do
    if run.request == ev.data.request_id and run.client.id == ev.data.client_id then
      return vim.schedule(function() -- after the callback, if there is one
        if not run.detached then
          finish(run, "cancelled")
        end
      end)
    end
  end
end

local function on_progress(ev)
  local value = ev.data.params.value
  for _, run in ipairs(runs) do
    if run.token == ev.data.params.token and run.client.id == ev.data.client_id then
      if type(value) == "table" and value.kind ~= "end" then
        run.note = value.message or run.note
        return run.view.update(run)
      end
    end
  end
end

local group ---@type integer?

local function listen()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("agentls.run", {})
  vim.api.nvim_create_autocmd("LspRequest", { group = group, callback = on_request })
  vim.api.nvim_create_autocmd("LspProgress", { group = group, callback = on_progress })
end

---Starts a run.
---@param c vim.lsp.Client
---@param command "agentls.ask"|"agentls.send"
---@param argument agentls.AskArguments|agentls.SendArguments
---@param view agentls.View
function M.start(c, command, argument, view)
  listen()
  local run = { token = "agentls-" .. M.new_id(), client = c, id = argument.runId, session = argument.session }
  run.status, run.note, run.detached, run.questions, run.view = "queued", "", false, 0, view
  run.request = client.execute(c, command, argument, run.token, function(err, result)
    answered(run, err, result)
  end)
  table.insert(runs, run)
  if not run.request then
    return finish(run, "failed", nil, "the server is gone; the next command starts it again")
  end
  view.update(run)
end

---The run of an event. A run that did not choose its id takes that of the first unknown run of its session:
---the server queues in the order of the requests.
---@param event agentls.RunEvent
---@param client_id integer
---@return agentls.Run?
local function find(event, client_id)
  local nameless
  for _, run in ipairs(runs) do
    if run.client.id == client_id then
      if run.id == event.runId then
        return run
      end
      if not run.id and (not run.session or run.session == event.session) then
        nameless = nameless or run
      end
    end
  end
  if nameless and (event.kind == "queued" or event.kind == "started") then
    nameless.id, nameless.session = event.runId, event.session
    return nameless
  end
end

---@param run agentls.Run
---@param approval {id: string, state: "open"|"resolved"}
local function on_approval(run, approval)
  run.questions = math.max(run.questions + (approval.state == "open" and 1 or -1), 0)
  if approval.state == "resolved" then
    require("agentls.approve").drop(function(question)
      return question.params.id == approval.id
    end)
  end
end

---@param event agentls.RunEvent
function M.on_event(_, event, ctx)
  local run = find(event, ctx.client_id)
  if not run then
    return
  end
  if event.kind == "finished" then
    if run.detached then
      finish(run, event.status or "completed", nil, event.error and event.error.message)
    end
    return
  end
  if event.kind == "approval" and event.approval then
    on_approval(run, event.approval)
  end
  run.status = event.kind == "queued" and "queued" or run.questions > 0 and "waiting" or "running"
  if event.kind == "text" and run.view.text then
    run.view.text(run, event.delta or "")
  elseif event.kind == "toolCall" and run.view.pause then
    run.view.pause()
  end
  run.view.update(run)
end

---@param id integer the client's
function M.on_exit(id, code, signal)
  for _, run in ipairs(vim.list_slice(runs)) do
    if run.client.id == id then
      local how = signal ~= 0 and ("by signal %d"):format(signal) or ("with code %d"):format(code)
      finish(run, "failed", nil, ("the server ended %s; the next command starts it again"):format(how))
    end
  end
end

---Cancels the newest run of this buffer, else the newest of all; with none, whatever the servers run.
function M.cancel()
  local run = runs[#runs]
  local buf = vim.api.nvim_get_current_buf()
  for _, known in ipairs(runs) do
    run = known.view.buf == buf and known or run
  end
  if run and not run.detached then
    return client.cancel_request(run.client, run.request)
  end
  local clients = run and { run.client } or vim.lsp.get_clients({ name = "agentls" })
  for _, c in ipairs(clients) do
    client.execute(c, "agentls.cancel", run and { runId = run.id } or vim.empty_dict(), nil, function(err, result)
      if err then
        client.notify(err.message)
      elseif #result.cancelled == 0 then
        client.notify("nothing is running", vim.log.levels.INFO)
      end
    end)
  end
  if #clients == 0 then
    client.notify("nothing is running", vim.log.levels.INFO)
  end
end

---@return agentls.Run?
function M.last()
  return last
end

---@return agentls.Run[] what runs now, the newest last
function M.list()
  return vim.list_slice(runs)
end

return M
