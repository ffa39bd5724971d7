-- Options come from vim.g.agentls; a wrong one is named and its default is used.
local M = {}

---@class (exact) agentls.Config
---@field cmd string[] the server and its arguments
---@field options table the server's configuration (its config.json), sent when it starts
---@field root_markers string[] what marks a project's root
---@field completion boolean whether Neovim's own completion opens by itself in prompt buffers
---@field split "auto"|"left"|"right"|"above"|"below" where answers open
local defaults = {
  cmd = { "agentls" },
  options = {},
  root_markers = { ".agentls", ".mcp.json", ".git" },
  completion = true,
  split = "auto",
}

local splits = { auto = true, left = true, right = true, above = true, below = true }

local function strings(value)
  return vim.islist(value) and vim.iter(value):all(function(v)
    return type(v) == "string"
  end)
end

---@type table<string, {[1]: fun(value: any): boolean, [2]: string}>
local checks = {
  cmd = {
    function(v)
      return strings(v) and #v > 0
    end,
    'a list of strings such as { "agentls" }',
  },
  options = {
    function(v)
      return type(v) == "table" and (next(v) == nil or not vim.islist(v))
    end,
    "a table",
  },
  root_markers = { strings, "a list of strings" },
  completion = {
    function(v)
      return type(v) == "boolean"
    end,
    "true or false",
  },
  split = {
    function(v)
      return splits[v] ~= nil
    end,
    "one of auto, left, right, above, below",
  },
}

---@return agentls.Config
---@return string[] faults a line for each wrong option
function M.get()
  local config, faults = vim.deepcopy(defaults), {}
  local given = vim.g.agentls
  if given ~= nil and type(given) ~= "table" then
    faults[1] = ("vim.g.agentls must be a table, not a %s"):format(type(given))
    return config, faults
  end
  for key, value in vim.spairs(given or {}) do
    local check = checks[key]
    if not check then
      faults[#faults + 1] = ("vim.g.agentls.%s is unknown; known are %s"):format(
        key,
        table.concat(vim.fn.sort(vim.tbl_keys(checks)), ", ")
      )
    elseif not check[1](value) then
      faults[#faults + 1] = ("vim.g.agentls.%s must be %s"):format(key, check[2])
    else
      config[key] = value
    end
  end
  return config, faults
end

return M
