-- `:Agentls ask`: the answers of a session stream into the buffer agentls://<session>.
local client = require("agentls.client")
local mark = require("agentls.mark")
local run = require("agentls.run")

local M = {}

---@return string
local function new_session()
  return os.date("%Y%m%d-%H%M%S-") .. run.new_id():sub(1, 4)
end

---@param session string
---@param root? string
---@return integer
local function buffer(session, root)
  local name = "agentls://" .. session
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buf) == name then
      return buf
    end
  end
  local buf = vim.api.nvim_create_buf(true, true)
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].undolevels = -1
  vim.b[buf].agentls_session, vim.b[buf].agentls_root = session, root
  vim.bo[buf].filetype = "markdown"
  vim.bo[buf].modifiable = false
  return buf
end

---@param buf integer
local function show(buf)
  if vim.fn.bufwinid(buf) ~= -1 then
    return
  end
  local split = require("agentls.config").get().split
  if split == "auto" then
    split = vim.o.columns >= 120 and "right" or "below"
  end
  local win = vim.api.nvim_open_win(buf, false, { split = split })
  vim.wo[win].wrap, vim.wo[win].linebreak = true, true
end

---Appends text; windows that show the end go on showing it.
---@param buf integer
---@param text string
local function append(buf, text)
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local last = vim.api.nvim_buf_line_count(buf)
  local following = vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_cursor(win)[1] == last
  end, vim.fn.win_findbuf(buf))
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_text(buf, -1, -1, -1, -1, vim.split(text:gsub("\r", ""), "\n", { plain = true }))
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
  for _, win in ipairs(following) do
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 })
  end
end

---Runs of one session come one after another, so each writes at the end.
---@param buf integer
---@param prompt string
---@return agentls.View
local function view(buf, prompt)
  local at ---@type integer?
  local gap, some = "\n\n", false -- what comes before the next piece, and whether there was one
  local function open()
    if at or not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    local lines = vim.api.nvim_buf_line_count(buf)
    local first = lines == 1 and vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
    append(buf, ("%s## You\n\n%s\n\n## Agent"):format(first and "" or "\n\n", prompt))
    at = mark.new(buf, vim.api.nvim_buf_line_count(buf) - 1)
  end
  local function update(r)
    if r.status ~= "queued" or #run.list() == 1 then
      open()
    end
    if at then
      mark.show(buf, at, r)
    end
  end
  local function text(_, delta)
    if delta ~= "" then
      open()
      append(buf, gap .. delta)
      gap, some = "", true
    end
  end
  return {
    buf = buf,
    update = update,
    text = text,
    pause = function()
      gap = "\n\n"
    end,
    finish = function(r, result)
      open()
      if not some and result and result.text then
        text(r, result.text) -- a server without run events
      end
      update(r)
    end,
  }
end

---@param buf integer
---@param lines {[1]: integer, [2]: integer} first and last line, from 1
---@param encoding string
---@return {uri: string, range: lsp.Range}
local function document(buf, lines, encoding)
  local last = vim.api.nvim_buf_get_lines(buf, lines[2] - 1, lines[2], false)[1] or ""
  local range = vim.lsp.util.make_given_range_params({ lines[1], 0 }, { lines[2], #last }, buf, encoding).range
  return { uri = vim.uri_from_bufnr(buf), range = range }
end

---@param prompt string
---@param lines? {[1]: integer, [2]: integer}
function M.ask(prompt, lines)
  local buf = vim.api.nvim_get_current_buf()
  if lines and (vim.bo.buftype ~= "" or vim.api.nvim_buf_get_name(buf) == "") then
    return client.notify("only lines of a file can be attached; save this buffer first")
  end
  local session = vim.b.agentls_session or new_session()
  client.with(buf, function(c)
    local answers = buffer(session, c.root_dir)
    show(answers)
    run.start(c, "agentls.ask", {
      prompt = prompt,
      session = session,
      runId = run.new_id(),
      document = lines and document(buf, lines, c.offset_encoding) or nil,
    }, view(answers, prompt))
  end)
end

---Runs a code action: its answer opens as that of `:Agentls ask`.
---@param command {title: string, arguments: agentls.AskArguments[]}
---@param ctx {client_id: integer}
function M.act(command, ctx)
  local c = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local session = new_session()
  local answers = buffer(session, c.root_dir)
  show(answers)
  local argument = vim.tbl_extend("keep", { session = session, runId = run.new_id() }, command.arguments[1])
  run.start(c, "agentls.ask", argument, view(answers, command.title))
end

return M
