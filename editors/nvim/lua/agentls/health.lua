-- :checkhealth agentls
local M = {}

local function check_binary(cmd)
  local path = vim.fn.exepath(cmd[1])
  if path == "" then
    return vim.health.error(("%s is not executable"):format(cmd[1]), {
      "Put agentls in your PATH, or set vim.g.agentls = { cmd = { '/path/to/agentls' } }",
    })
  end
  vim.health.ok(("server: %s"):format(path))
  local command = vim.tbl_filter(function(word)
    return not vim.startswith(word, "-")
  end, cmd)
  local started, process = pcall(vim.system, vim.list_extend(command, { "version" }), { text = true, timeout = 5000 })
  local result = started and process:wait()
  if result and result.code == 0 then
    vim.health.ok(vim.trim(result.stdout))
  else
    local why = result and vim.trim(result.stderr or "") or tostring(process)
    vim.health.error(("`%s` failed: %s"):format(table.concat(command, " "), why))
  end
end

local function check_clients()
  local clients = vim.lsp.get_clients({ name = "agentls" })
  if #clients == 0 then
    return vim.health.info("no server runs now; one starts with a *.agentls.md file or with :Agentls ask")
  end
  for _, client in ipairs(clients) do
    local names = vim.tbl_map(vim.api.nvim_buf_get_name, vim.tbl_keys(client.attached_buffers))
    vim.health.ok(("client %d in %s: %s"):format(client.id, client.root_dir or "no folder", table.concat(names, ", ")))
  end
end

function M.check()
  vim.health.start("agentls")
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.ok("Neovim " .. tostring(vim.version()))
  else
    vim.health.warn("Neovim 0.10: mentions complete with CTRL-X CTRL-O only")
  end
  local config, faults = require("agentls.config").get()
  for _, fault in ipairs(faults) do
    vim.health.error(fault)
  end
  check_binary(config.cmd)
  check_clients()
end

return M
