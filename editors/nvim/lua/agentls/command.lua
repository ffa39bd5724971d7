-- `:Agentls {subcommand} …`
local M = {}

---@type table<string, fun(call: vim.api.keyset.create_user_command.command_args, rest: string)>
local commands = {}

function commands.ask(call, rest)
  local lines = call.range > 0 and { call.line1, call.line2 } or nil
  if rest ~= "" then
    return require("agentls").ask(rest, lines)
  end
  local buf = vim.api.nvim_get_current_buf()
  vim.ui.input({ prompt = "Ask agentls: " }, function(prompt)
    if prompt and vim.trim(prompt) ~= "" and vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_call(buf, function()
        require("agentls").ask(prompt, lines)
      end)
    end
  end)
end

function commands.send()
  require("agentls").send()
end

function commands.cancel()
  require("agentls").cancel()
end

function commands.setup()
  require("agentls.setup").setup()
end

function commands.undo(_, rest)
  require("agentls.undo").undo(rest ~= "" and rest or nil)
end

function commands.log()
  require("agentls").log()
end

local function names()
  return vim.fn.sort(vim.tbl_keys(commands))
end

function M.run(call)
  local name, rest = call.args:match("^%s*(%S*)%s*(.-)%s*$")
  local command = commands[name]
  if not command then
    local known = table.concat(names(), ", ")
    return vim.notify(("agentls: no command %q; there are %s"):format(name, known), vim.log.levels.ERROR)
  end
  command(call, rest)
end

---@return string[]
function M.complete(lead, line)
  if not line:match("Agentls%s+%S*$") then
    return {} -- a prompt follows; the server completes it in prompt buffers
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names())
end

return M
