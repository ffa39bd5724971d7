-- workspace/applyEdit, told truly: Neovim's own handler says "applied" of an edit that it drops because the buffer
-- is newer, and prints a line for each edit.
local M = {}

---@param change {textDocument?: {uri: string, version: any}}
---@return boolean
local function outdated(change)
  local document = change.textDocument
  if not document or type(document.version) ~= "number" or document.version <= 0 then
    return false
  end
  return (vim.lsp.util.buf_versions[vim.uri_to_bufnr(document.uri)] or 0) > document.version
end

function M.on_request(err, params, ctx)
  if vim.iter(params.edit.documentChanges or {}):any(outdated) then
    return { applied = false, failureReason = "the buffer is newer than the edit" }
  end
  params.label = nil
  return vim.lsp.handlers["workspace/applyEdit"](err, params, ctx)
end

return M
