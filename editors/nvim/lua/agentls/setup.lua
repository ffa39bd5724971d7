-- `:Agentls setup`: which model answers, of those that the server finds.
local client = require("agentls.client")

local M = {}

---@param result agentls.SetupResult
local function told(result)
  local level = result.warning and vim.log.levels.WARN or vim.log.levels.INFO
  local words = ("%s of %s is set up, in %s"):format(result.model, result.provider, result.config)
  client.notify(result.warning and words .. ". " .. result.warning or words, level)
end

---What was found, in lines for a person: what can be chosen, and why the rest cannot.
---@param found agentls.Found[]
---@return { provider: string, model: string, title: string }[] choices, string[] faults
local function read(found)
  local choices, faults = {}, {}
  for _, f in ipairs(found) do
    for _, model in ipairs(f.models) do
      local in_force = f.inForce and f.model == model and " (in force)" or ""
      table.insert(choices, { provider = f.provider, model = model, title = ("%s of %s%s"):format(model, f.title, in_force) })
    end
    if #f.models == 0 then
      table.insert(faults, ("%s: %s"):format(f.title, f.error or "it lists no models"))
    end
  end
  return choices, faults
end

---@param result agentls.SetupFound
local function choose(c, result)
  local choices, faults = read(result.found)
  if #choices == 0 then
    table.insert(faults, 1, "no model was found; start a program that serves one, set a key, or write one into " .. result.config)
    return client.notify(table.concat(faults, "\n"), vim.log.levels.WARN)
  end
  local options = {
    prompt = "agentls: which model is to answer?",
    format_item = function(choice)
      return choice.title
    end,
  }
  vim.ui.select(choices, options, function(choice)
    if choice then
      local argument = { provider = choice.provider, model = choice.model }
      client.execute(c, "agentls.setup", argument, nil, function(err, written)
        if err then
          return client.notify(err.message)
        end
        told(written)
      end)
    end
  end)
end

function M.setup()
  client.with(vim.api.nvim_get_current_buf(), function(c)
    client.execute(c, "agentls.setup", vim.empty_dict(), nil, function(err, result)
      if err then
        return client.notify(err.message)
      end
      choose(c, result)
    end)
  end)
end

return M
