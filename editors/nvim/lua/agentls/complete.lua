-- Completion while typing in prompt buffers: the server decides what is a mention.
local M = {}

-- Neovim asks at trigger characters and drops that when the next key comes within 25 ms; a popup that a character
-- such as "-" closed stays closed. So ask again whenever typing pauses without a popup.
local pause_ms = 60

---@param client vim.lsp.Client
---@param buf integer
function M.enable(client, buf)
  vim.lsp.completion.enable(true, client.id, buf, { autotrigger = true })
  local group = vim.api.nvim_create_augroup("agentls.complete", { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  local typed = 0
  vim.api.nvim_create_autocmd("InsertCharPre", {
    group = group,
    buffer = buf,
    callback = function()
      typed = typed + 1
      local now = typed
      vim.defer_fn(function()
        local here = now == typed and vim.api.nvim_get_current_buf() == buf
        if here and vim.api.nvim_get_mode().mode == "i" and vim.fn.pumvisible() == 0 then
          vim.lsp.completion.get()
        end
      end, pause_ms)
    end,
  })
end

return M
