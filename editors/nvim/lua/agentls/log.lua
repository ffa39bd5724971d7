-- What the server logs, kept for `:Agentls log`.
local M = {}

local levels = { "error", "warning", "info", "log", "debug" }
local max_lines = 2000
local lines = {} ---@type string[]

---@param params {type: integer, message: string}
function M.on_message(err, params, ctx)
  for _, line in ipairs(vim.split(params.message, "\n", { plain = true })) do
    lines[#lines + 1] = ("%s %-7s %s"):format(os.date("%H:%M:%S"), levels[params.type] or "?", line)
  end
  if #lines > max_lines then
    lines = vim.list_slice(lines, #lines - max_lines / 2)
  end
  return vim.lsp.handlers["window/logMessage"](err, params, ctx)
end

function M.open()
  local buf = vim.fn.bufnr("^agentls://log$")
  if buf == -1 then
    buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buf, "agentls://log")
  end
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.cmd.sbuffer(buf)
  vim.cmd.normal({ "G", bang = true })
end

return M
