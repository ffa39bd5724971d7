-- `:Agentls undo`: takes the edits of a run back.
local client = require("agentls.client")

local M = {}

---What the server did, in lines for a person.
---@param result agentls.UndoResult
---@return string
local function told(result)
  local function name(uri)
    return vim.fn.fnamemodify(vim.uri_to_fname(uri), ":.")
  end
  local lines = {}
  if #result.restored > 0 then
    table.insert(lines, "restored " .. table.concat(vim.tbl_map(name, result.restored), ", "))
  end
  for _, refused in ipairs(result.refused) do
    table.insert(lines, ("left %s: %s"):format(name(refused.uri), refused.reason))
  end
  if #result.untracked > 0 then
    table.insert(lines, "not known here is what was done by " .. table.concat(result.untracked, ", "))
  end
  return #lines > 0 and table.concat(lines, "\n") or "the run changed no files"
end

---@param id? string a run's; without it the one that ended last in this editor
function M.undo(id)
  local last = require("agentls.run").last()
  if not id and not last then
    return client.notify("no run has ended here; give the id of one", vim.log.levels.INFO)
  end
  local function send(c)
    client.execute(c, "agentls.undo", { runId = id or last.id }, nil, function(err, result)
      client.notify(err and err.message or told(result), err and vim.log.levels.ERROR or vim.log.levels.INFO)
    end)
  end
  if last and (not id or last.id == id) and not last.client:is_stopped() then
    return send(last.client)
  end
  client.with(vim.api.nvim_get_current_buf(), send)
end

return M
