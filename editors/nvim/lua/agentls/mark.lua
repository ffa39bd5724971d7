-- The state of a run as virtual text at the end of a line. The mark moves with the text; nothing is written.
local M = {}

local space = vim.api.nvim_create_namespace("agentls")

local highlights = {
  failed = "DiagnosticVirtualTextError",
  stopped = "DiagnosticVirtualTextWarn",
  waiting = "DiagnosticVirtualTextWarn",
}

local words = { waiting = "waiting for you", completed = "done" }

local last = 0 -- ids are never used again: a late end of a run must not touch the mark of the next
local ended = {} ---@type table<integer, integer[]> by buffer, the marks of runs that have ended

---@param buf integer
---@param row integer from 0
---@return integer mark
function M.new(buf, row)
  last = last + 1
  return vim.api.nvim_buf_set_extmark(buf, space, row, 0, { id = last })
end

---@param buf integer
---@param mark integer
---@param run agentls.Run
function M.show(buf, mark, run)
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local row = vim.api.nvim_buf_get_extmark_by_id(buf, space, mark, {})[1]
  if not row then
    return
  end
  local text = words[run.status] or run.status
  if run.note ~= "" and (run.status == "running" or run.status == "failed" or run.status == "stopped") then
    text = text .. ": " .. vim.fn.strcharpart(run.note, 0, 100)
  end
  vim.api.nvim_buf_set_extmark(buf, space, row, 0, {
    id = mark,
    virt_text = { { " " .. text, highlights[run.status] or "DiagnosticVirtualTextInfo" } },
    hl_mode = "combine",
  })
end

---Lets a mark stand until the next sweep.
---@param buf integer
---@param mark integer
function M.keep(buf, mark)
  ended[buf] = ended[buf] or {}
  table.insert(ended[buf], mark)
end

---@param buf integer
---@param mark integer
function M.clear(buf, mark)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_del_extmark(buf, space, mark)
  end
end

---Takes away the marks of runs that have ended.
---@param buf integer
function M.sweep(buf)
  for _, mark in ipairs(ended[buf] or {}) do
    M.clear(buf, mark)
  end
  ended[buf] = nil
end

---The states that a buffer shows, for statuslines and tests.
---@param buf integer
---@return string[]
function M.texts(buf)
  return vim
    .iter(vim.api.nvim_buf_get_extmarks(buf, space, 0, -1, { details = true }))
    :map(function(mark)
      return mark[4].virt_text and vim.trim(mark[4].virt_text[1][1])
    end)
    :totable()
end

return M
