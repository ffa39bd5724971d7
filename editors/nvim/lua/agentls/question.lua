-- What a question says: a line, and a window for what the line cannot hold.
local M = {}

---One line, no control characters.
---@param text any
---@return string
function M.plain(text)
  return (tostring(text):gsub("%c+", " "))
end
local plain = M.plain

---@param value any of the wire, where null and "" mean that there is nothing
---@return any
function M.known(value)
  return value ~= vim.NIL and value ~= "" and value or nil
end

---Whether the question is about a change of configuration files.
---@param params agentls.ApproveParams
---@return boolean
function M.is_change(params)
  return params.kind == "trust" and type(params.arguments) == "table" and params.arguments.files ~= nil
end

---@param params agentls.ApproveParams
---@return string
local function subject(params)
  if M.is_change(params) then
    return "the changed configuration"
  elseif params.kind == "plan" then
    return "the plan"
  end
  local names = {}
  for _, name in ipairs({ "server", "tool" }) do
    names[#names + 1] = M.known(params[name])
  end
  return #names > 0 and plain(table.concat(names, "/")) or "this folder"
end

---The steps of a plan, with what each is to do.
---@param steps agentls.PlanStep[]
---@return string[]
local function plan_lines(steps)
  local lines, place = {}, {}
  for i, step in ipairs(steps) do
    place[step.id] = i
  end
  for i, step in ipairs(steps) do
    local after = vim.tbl_map(function(id)
      return tostring(place[id])
    end, step.dependsOn)
    local suffix = #after > 0 and (" (after %s)"):format(table.concat(after, ", ")) or ""
    lines[#lines + 1] = ("%d. %s%s"):format(i, plain(step.title), suffix)
    for _, line in ipairs(vim.split(vim.trim(step.task), "\n", { plain = true })) do
      lines[#lines + 1] = "   " .. plain(line)
    end
  end
  return lines
end

---What the question is about, whole.
---@param params agentls.ApproveParams
---@return string[]
local function details(params)
  if params.kind == "plan" then
    return plan_lines(params.plan.steps)
  end
  local preview = M.known(params.preview)
  if preview then
    return vim.split(vim.trim(preview.diff), "\n", { plain = true })
  end
  local lines = {}
  local function add(name, value)
    value = type(value) == "string" and value or vim.json.encode(value)
    local parts = vim.split(value, "\n", { plain = true })
    lines[#lines + 1] = ("%s: %s"):format(name, #parts == 1 and parts[1] or "")
    if #parts > 1 then
      vim.list_extend(lines, vim.tbl_map(function(part)
        return "  " .. part
      end, parts))
    end
  end
  for _, name in ipairs({ "reason", "description" }) do
    if M.known(params[name]) then
      add(name, params[name])
    end
  end
  local arguments = M.known(params.arguments)
  if type(arguments) == "table" and not vim.islist(arguments) then
    for name, value in vim.spairs(arguments) do
      add(plain(name), value)
    end
  elseif arguments and not vim.deep_equal(arguments, {}) then
    add("arguments", arguments)
  end
  return lines
end

---@param params agentls.ApproveParams
---@return string
---@return boolean whole nothing was left out
function M.title(params)
  local text = subject(params)
  if M.is_change(params) then
    return "Apply the configuration that changed during a run?", false
  elseif params.kind == "trust" then
    return ("Trust %s?"):format(text), false
  end
  if params.kind == "plan" then
    local n = #params.plan.steps
    return ("Run this plan of %d step%s?"):format(n, n == 1 and "" or "s"), false
  end
  local part = M.known(params.part)
  local who = part and plain(part) .. ": " or "" -- of a plan
  local preview = M.known(params.preview)
  if preview then
    return ("%sChange %s (+%d −%d lines)?"):format(who, plain(preview.path), preview.added, preview.removed), false
  end
  local arguments = M.known(params.arguments)
  if arguments and not vim.deep_equal(arguments, {}) then
    text = text .. " " .. vim.json.encode(arguments)
  end
  local short = vim.fn.strcharpart(plain(text), 0, 120)
  local whole = short == text
  return ("%sRun %s%s?%s"):format(
    who,
    short,
    whole and "" or "…",
    params.definitionChanged == true and " Its definition has changed since you allowed it." or ""
  ), whole
end

---A window above everything with what the question's line cannot hold.
---@param params agentls.ApproveParams
---@param whole boolean the line holds all
---@return fun() close
function M.show_details(params, whole)
  local lines = whole and {} or details(params)
  if #lines == 0 then
    return function() end
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  if M.known(params.preview) then
    vim.bo[buf].syntax = "diff"
  end
  local width = math.max(vim.o.columns - 4, 20)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  local height = math.min(rows, math.max(vim.o.lines - 10, 3))
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = 0,
    col = 1,
    width = width,
    height = height,
    border = "rounded",
    title = (" %s "):format(subject(params)),
    footer = rows > height and (" %d more lines are not shown "):format(rows - height) or "",
    style = "minimal",
  })
  vim.wo[win].wrap = true
  vim.cmd.redraw()
  return function()
    if vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
  end
end

return M
