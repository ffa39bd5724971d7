if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = 1

local undo = { "setlocal commentstring< comments<" }
vim.bo.commentstring = "<!-- %s -->"
vim.bo.comments = "fb:*,fb:-,fb:+,n:>"

if vim.fn.has("nvim-0.11") == 1 then
  -- Without noselect the first mention would be inserted at once; a single one is worth a menu too.
  vim.opt_local.completeopt = { "menuone", "noselect", "popup" }
  undo[#undo + 1] = "setlocal completeopt<"
end

vim.treesitter.language.register("markdown", "agentls")
if pcall(vim.treesitter.start, 0, "markdown") then
  undo[#undo + 1] = "lua vim.treesitter.stop()"
end
vim.b.undo_ftplugin = table.concat(undo, " | ")
