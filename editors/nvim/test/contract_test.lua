-- types.lua is the wire as the server has it: editors/contract.json, which the server's own types make.
local harness = require("harness")
local equal = harness.equal

local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
local function read(path)
  return table.concat(vim.fn.readfile(here .. "/" .. path), "\n")
end
local contract = vim.json.decode(read("../../contract.json"))

-- The fields of what a class of types.lua stands for: types of the contract, or the argument of a command.
local stands_for = {
  AskArguments = { command = "agentls.ask" },
  SendArguments = { command = "agentls.send" },
  ApproveResult = { "ApproveReply", written = true },
  RunResult = { "RunResult", "StartedInfo" },
  RunEvent = { "RunEvent" },
  ApproveParams = { "ApproveParams" },
  PlanStep = { "StepParams" },
  ElicitParams = { "ElicitParams" },
  Field = { "FieldParams" },
  UndoResult = { "Undone" },
  Found = { "FoundInfo" },
  Preset = { "PresetInfo" },
  SetupFound = { "FoundResult" },
  SetupResult = { "SetupResult" },
}

-- name → { type, optional } of all that a value may be.
local function wire(class)
  local of = stands_for[class]
  local objects = of.command and { contract.commands[of.command].argument } or {}
  for _, name in ipairs(of) do
    objects[#objects + 1] = assert(contract.types[name], name)
  end
  local all = {}
  for _, object in ipairs(objects) do
    for key, type in pairs(object) do
      local name, optional = key:gsub("%?$", "")
      all[name] = all[name] or { type = type, optional = optional == 1, n = 0 }
      all[name].n = all[name].n + 1
    end
  end
  for _, field in pairs(all) do
    field.optional = field.optional or field.n < #objects
  end
  return all
end

local function words(type)
  local all = {}
  for word in (contract.enums[type] and table.concat(contract.enums[type], "|") or type:gsub("['%s]", "")):gmatch("[^|]+") do
    all[#all + 1] = word
  end
  table.sort(all)
  return table.concat(all, "|")
end

-- The type of types.lua without what is said about it.
local function own_words(type)
  local all = {}
  for word in type:match("^%S+"):gmatch('"(%w+)"') do
    all[#all + 1] = word
  end
  table.sort(all)
  return table.concat(all, "|")
end

local plain = { string = "string", integer = "integer", boolean = "boolean" }

local function faults(text)
  local found, class, aliases = {}, nil, {}
  for name, type in text:gmatch("%-%-%-@alias agentls%.(%w+) ([^\n]+)") do
    aliases[name] = type
  end
  for line in vim.gsplit(text, "\n") do
    class = line:match("^%-%-%-@class .*agentls%.(%w+)$") or class
    local name, mark, type = line:match("^%-%-%-@field (%w+)(%??) (.+)$")
    if name and not stands_for[class] then
      found[#found + 1] = class .. ": contract_test.lua does not know what it stands for"
    elseif name then
      local field = wire(class)[name]
      local at = class .. "." .. name
      local written = stands_for[class].command or stands_for[class].written
      type = type:gsub("^agentls%.(%w+)", aliases)
      if not field then
        found[#found + 1] = at .. ": the server knows no such field"
      elseif not written and field.optional and mark == "" then
        found[#found + 1] = at .. ": the server may leave it out"
      elseif written and not field.optional and mark == "?" then
        found[#found + 1] = at .. ": the server wants it"
      elseif type:match('^"') and own_words(type) ~= words(field.type) then
        found[#found + 1] = ("%s: %s, and %s on the wire"):format(at, own_words(type), words(field.type))
      elseif plain[type:match("^%w+$") or type:match("^(%w+) ")] and plain[type:match("^%w+")] ~= field.type then
        found[#found + 1] = ("%s: %s, and %s on the wire"):format(at, type, field.type)
      end
    end
  end
  return found
end

return {
  {
    "types.lua is the wire as the server has it",
    function()
      equal(faults(read("../lua/agentls/types.lua")), {})
    end,
  },
  {
    "what is not the wire is found",
    function()
      local field = "---@class agentls.PlanStep\n---@field "
      equal(faults(field .. "name string"), { "PlanStep.name: the server knows no such field" })
      equal(faults(field .. "title integer what it is"), { "PlanStep.title: integer what it is, and string on the wire" })
      equal(faults("---@class agentls.Found\n---@field model string"), { "Found.model: the server may leave it out" })
      equal(faults("---@class (exact) agentls.SendArguments\n---@field uri? string"), { "SendArguments.uri: the server wants it" })
      equal(faults('---@class agentls.ElicitParams\n---@field mode "form"'), { "ElicitParams.mode: form, and form|url on the wire" })
    end,
  },
}
