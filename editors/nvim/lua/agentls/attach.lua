-- What of the project is open here, the server has to know: it edits that here, and all else on disk.
local M = {}

local biggest = 16 * 1024 * 1024 -- bytes; the server edits no larger file

---@param path string
---@return string
local function real(path)
  return vim.uv.fs_realpath(path) or vim.uv.fs_realpath(vim.fs.dirname(path)) and
    vim.fs.joinpath(vim.uv.fs_realpath(vim.fs.dirname(path)), vim.fs.basename(path)) or path
end

---@param client vim.lsp.Client
---@param buf integer
local function attach(client, buf)
  if not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= "" or client:is_stopped() then
    return
  end
  local name = vim.api.nvim_buf_get_name(buf)
  local size = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))
  if name == "" or name:find("^%a[%w+.-]+://") or size > biggest or vim.lsp.buf_is_attached(buf, client.id) then
    return
  end
  if client.root_dir and vim.startswith(real(name), real(client.root_dir) .. "/") then
    vim.lsp.buf_attach_client(buf, client.id)
  end
end

---Attaches a client to the open files of its project, and to those that are opened later.
---@param client vim.lsp.Client
function M.watch(client)
  vim.schedule(function()
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      attach(client, buf)
    end
  end)
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "FileType" }, {
    group = vim.api.nvim_create_augroup("agentls.attach", {}),
    callback = vim.schedule_wrap(function(ev) -- Neovim's own attaching and detaching comes first
      for _, c in ipairs(vim.lsp.get_clients({ name = "agentls" })) do
        if c.initialized then
          attach(c, ev.buf)
        end
      end
    end),
  })
end

return M
