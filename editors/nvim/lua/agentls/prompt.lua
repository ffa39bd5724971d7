-- Prompt buffers (*.agentls.md). Only the server writes them; here is what sends them.
local client = require("agentls.client")
local mark = require("agentls.mark")

local M = {}

---@param buf integer
---@param row integer from 0
---@return agentls.View
local function view(buf, row)
  mark.sweep(buf)
  local at = mark.new(buf, row)
  return {
    buf = buf,
    update = function(run)
      mark.show(buf, at, run)
    end,
    finish = function(run)
      if run.status == "completed" then
        mark.clear(buf, at) -- the answer stands there
      else
        mark.show(buf, at, run)
        mark.keep(buf, at)
      end
    end,
  }
end

---@param c vim.lsp.Client
---@param buf integer
---@param argument agentls.SendArguments
local function start(c, buf, argument)
  argument = vim.tbl_extend("force", argument, { stream = true })
  require("agentls.run").start(c, "agentls.send", argument, view(buf, argument.position.line))
end

function M.send()
  local buf = vim.api.nvim_get_current_buf()
  if vim.bo.filetype ~= "agentls" or vim.bo.buftype ~= "" or vim.api.nvim_buf_get_name(buf) == "" then
    return client.notify("only a prompt buffer can be sent: open a file named *.agentls.md, or use :Agentls ask")
  end
  local cursor = vim.api.nvim_win_get_cursor(0)
  client.with(buf, function(c)
    local position = vim.lsp.util.make_given_range_params(cursor, cursor, buf, c.offset_encoding).range.start
    start(c, buf, { uri = vim.uri_from_bufnr(buf), position = position })
  end)
end

---Runs the code action that sends a prompt.
---@param command {arguments: agentls.SendArguments[]}
---@param ctx {client_id: integer, bufnr: integer}
function M.act(command, ctx)
  start(assert(vim.lsp.get_client_by_id(ctx.client_id)), ctx.bufnr, command.arguments[1])
end

return M
