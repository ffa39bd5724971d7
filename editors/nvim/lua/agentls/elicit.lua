-- What a server wants to know (agentls/elicit): the fields of a form, one after the other, or whether a link may be
-- opened. What does not fit the server of agentls refuses, and asks again.
local text = require("agentls.question")
local plain, known = text.plain, text.known

local M = {}

local declined = { decision = "deny" } ---@type agentls.ApproveResult

---Shows items and calls on_choice with the chosen one, or nil.
---@param prompt string
---@param items {title: string}[]
---@param on_choice fun(item?: table)
local function select(prompt, items, on_choice)
  vim.ui.select(items, {
    prompt = prompt,
    kind = "agentls_elicit",
    format_item = function(item)
      return item.title
    end,
  }, on_choice)
end

---@param field agentls.Field
---@param lead string
---@return string
local function prompt_of(field, lead)
  local parts = { lead, plain(known(field.title) or field.name) }
  if known(field.description) then
    parts[#parts + 1] = "– " .. plain(field.description)
  end
  local about = {}
  if known(field.hint) then
    about[#about + 1] = plain(field.hint)
  end
  if not field.required then
    about[#about + 1] = "optional"
  end
  if #about > 0 then
    parts[#parts + 1] = ("(%s)"):format(table.concat(about, "; "))
  end
  return table.concat(parts, " ")
end

---@param field agentls.Field
---@return {title: string, value: any}[]
local function options_of(field)
  if field.kind == "boolean" then
    return { { title = "Yes", value = true }, { title = "No", value = false } }
  end
  return vim.tbl_map(function(option)
    return { title = plain(option.title), value = option.value }
  end, field.options)
end

---Lets options be taken and put back.
---@param field agentls.Field
---@param prompt string
---@param on_value fun(value?: any, no?: agentls.ApproveResult)
local function ask_some(field, prompt, on_value)
  local chosen = {} ---@type table<any, boolean>
  for _, value in ipairs(known(field.default) or {}) do
    chosen[value] = true
  end
  local function again()
    local items = { { title = "Decline", no = true }, { title = "Done", done = true } }
    for _, option in ipairs(options_of(field)) do
      items[#items + 1] = { title = (chosen[option.value] and "− " or "+ ") .. option.title, value = option.value }
    end
    select(prompt, items, function(item)
      if not item or item.no then
        return on_value(nil, item and declined)
      elseif not item.done then
        chosen[item.value] = not chosen[item.value]
        return again()
      end
      local values = {}
      for _, option in ipairs(options_of(field)) do
        if chosen[option.value] then
          values[#values + 1] = option.value
        end
      end
      on_value((#values > 0 or field.required) and values or vim.NIL)
    end)
  end
  again()
end

---Asks for a text, a number or several texts.
---@param field agentls.Field
---@param prompt string
---@param on_value fun(value?: any, no?: agentls.ApproveResult)
local function ask_typed(field, prompt, on_value)
  local function typed(value)
    if not known(value) then
      return on_value(value == "" and not field.required and vim.NIL or nil)
    elseif field.kind == "list" then
      return on_value(vim.tbl_map(vim.trim, vim.split(value, ",", { trimempty = true })))
    elseif field.kind == "number" or field.kind == "integer" then
      return on_value(tonumber(value) or value) -- what is no number is refused by name
    end
    on_value(value)
  end
  local default = known(field.default)
  default = type(default) == "table" and table.concat(default, ", ") or default
  local options = { prompt = prompt .. ": ", default = default ~= nil and tostring(default) or nil }
  if field.secret then
    options.cancelreturn = vim.NIL
    return typed(vim.fn.inputsecret(options))
  end
  vim.ui.input(options, typed)
end

---@param field agentls.Field
---@param lead string
---@param on_value fun(value?: any, no?: agentls.ApproveResult) no value: the question is dismissed, or no says how
local function ask_field(field, lead, on_value)
  local prompt = prompt_of(field, lead)
  if field.kind == "enums" then
    return ask_some(field, prompt, on_value)
  elseif field.kind ~= "enum" and field.kind ~= "boolean" then
    return ask_typed(field, prompt, on_value)
  end
  local items = { { title = "Decline", no = true } }
  vim.list_extend(items, options_of(field))
  if not field.required then
    items[#items + 1] = { title = "Leave out", value = vim.NIL }
  end
  select(prompt, items, function(item)
    if item and not item.no then
      return on_value(item.value)
    end
    on_value(nil, item and declined)
  end)
end

---@param content table<string, any>
---@param fields agentls.Field[]
---@return string
local function summary(content, fields)
  local parts = {}
  for _, field in ipairs(fields) do
    local value = content[field.name]
    if value ~= nil and value ~= vim.NIL then
      local shown = field.secret and "…" or type(value) == "table" and vim.json.encode(value) or tostring(value)
      parts[#parts + 1] = ("%s = %s"):format(plain(known(field.title) or field.name), plain(shown))
    end
  end
  return #parts > 0 and table.concat(parts, ", ") or "nothing"
end

---@param question agentls.Question
---@param on_result fun(result?: agentls.ApproveResult)
local function ask_form(question, on_result)
  local params = question.params --[[@as agentls.ElicitParams]]
  local fields = params.fields or {}
  local message = plain(params.message)
  if known(params.problem) then
    message = ("%s [%s]"):format(message, plain(params.problem))
  end
  local content = vim.empty_dict()
  local send = { decision = "once", content = content } ---@type agentls.ApproveResult

  local function review()
    local items = { { title = "Decline" }, { title = #fields > 0 and "Send" or "Accept", result = send } }
    select(#fields > 0 and ("%s Send it this? %s"):format(message, summary(content, fields)) or message, items, function(item)
      on_result(item and (item.result or declined))
    end)
  end

  local function step(i)
    if question.settled then
      return
    elseif i > #fields then
      return review()
    end
    local lead = #fields > 1 and ("%s (%d of %d)"):format(message, i, #fields) or message
    ask_field(fields[i], lead, function(value, no)
      if value == nil then
        return on_result(no)
      end
      content[fields[i].name] = value
      if #fields == 1 and fields[1].kind ~= "enums" then
        return on_result(send)
      end
      step(i + 1)
    end)
  end
  step(1)
end

---@param question agentls.Question
---@param on_result fun(result?: agentls.ApproveResult)
local function ask_link(question, on_result)
  local params = question.params --[[@as agentls.ElicitParams]]
  local items = { { title = "Decline", result = declined }, { title = "Open", result = { decision = "once" } } }
  if known(params.opened) then
    items = {
      items[1],
      { title = "Continue", result = { decision = "once" } },
      { title = "Open again", result = { decision = "once", content = { open = true } } },
    }
  end
  select(plain(params.message), items, function(item)
    on_result(item and item.result)
  end)
end

---Asks, and calls on_result once: nil when the question was dismissed.
---@param question agentls.Question
---@param on_result fun(result?: agentls.ApproveResult)
function M.ask(question, on_result)
  local params = question.params --[[@as agentls.ElicitParams]]
  if params.kind == "input" then
    -- What a server needs before it starts: one field, whose message says all.
    local field = params.fields[1]
    if field.kind == "enum" then
      return select(plain(params.message), options_of(field), function(item)
        on_result(item and { decision = "once", content = { [field.name] = item.value } })
      end)
    end
    return ask_typed(field, plain(params.message), function(value)
      on_result(value ~= nil and { decision = "once", content = { [field.name] = value } } or nil)
    end)
  end
  (params.mode == "url" and ask_link or ask_form)(question, on_result)
end

return M
