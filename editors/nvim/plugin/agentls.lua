if vim.g.loaded_agentls then
  return
end
vim.g.loaded_agentls = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.api.nvim_echo({ { "agentls needs Neovim 0.10 or newer", "ErrorMsg" } }, true, {})
  return
end

vim.api.nvim_create_user_command("Agentls", function(call)
  require("agentls.command").run(call)
end, {
  nargs = "+",
  range = true,
  desc = "agentls: ask, send, cancel, log",
  complete = function(lead, line)
    return require("agentls.command").complete(lead, line)
  end,
})

local function map(modes, name, rhs, desc)
  vim.keymap.set(modes, ("<Plug>(agentls-%s)"):format(name), rhs, { desc = "agentls: " .. desc })
end
map("n", "ask", "<Cmd>Agentls ask<CR>", "ask")
map("x", "ask", ":Agentls ask<CR>", "ask about the selection")
map("n", "send", "<Cmd>Agentls send<CR>", "send the prompt at the cursor")
map("n", "cancel", "<Cmd>Agentls cancel<CR>", "cancel the newest run")

if vim.fn.has("nvim-0.11") == 1 then
  vim.lsp.enable("agentls")
else
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "agentls",
    group = vim.api.nvim_create_augroup("agentls", {}),
    callback = function(ev)
      require("agentls.client").with(ev.buf, function() end)
    end,
  })
end
