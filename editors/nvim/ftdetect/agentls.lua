if vim.filetype then
  vim.filetype.add({ pattern = { [".*%.agentls%.md"] = "agentls" } })
end
