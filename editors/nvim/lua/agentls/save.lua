-- agentls/save: writes buffers that the server has edited.
local M = {}

---@param uri string
---@return string? why it was not written
local function save(uri)
  local buf = vim.uri_to_bufnr(uri)
  if not vim.api.nvim_buf_is_loaded(buf) then
    return "it is not open"
  end
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd.update({ mods = { silent = true } })
  end)
  if ok and not vim.bo[buf].modified then
    return nil
  end
  return ok and "it was not written" or tostring(err):gsub("^.-(E%d+:)", "%1")
end

---@param params {uris: string[]}
---@return {saved: string[], failed: {uri: string, reason: string}[]}
function M.on_request(_, params)
  local result = { saved = {}, failed = {} }
  for _, uri in ipairs(params.uris) do
    local reason = save(uri)
    if reason then
      table.insert(result.failed, { uri = uri, reason = reason })
    else
      table.insert(result.saved, uri)
    end
  end
  return result
end

return M
