-- The language client: one per project root.
local config = require("agentls.config")

local M = {}

local modern = vim.fn.has("nvim-0.11") == 1
local waiting = {} ---@type table<integer, (fun(client: vim.lsp.Client))[]> by client id, until it is initialized
local unattached = {} ---@type table<string, integer> client ids by root, started without a buffer
local showing ---@type vim.lsp.Client? whose window/showDocument is being handled
local told = {} ---@type table<string, boolean> faults of the options, told once

---@param message string
---@param level? integer
function M.notify(message, level)
  vim.notify("agentls: " .. message, level or vim.log.levels.ERROR)
end

local function options()
  local c, faults = config.get()
  for _, fault in ipairs(faults) do
    if not told[fault] then
      told[fault] = true
      M.notify(fault)
    end
  end
  return c
end

---The project's root of a buffer; nil: none. A document that the server shows belongs to the server that showed it.
---@param buf integer
---@return string?
function M.root(buf)
  if showing then
    return showing.root_dir
  end
  local root = vim.b[buf].agentls_root or vim.fs.root(buf, options().root_markers)
  if root then
    return root
  end
  -- A folder without a marker is a project too, but not the home folder or one above it.
  local cwd, home = vim.fs.normalize(assert(vim.uv.cwd())), vim.fs.normalize("~")
  local above = cwd == home or cwd == "/" or vim.startswith(home, cwd .. "/")
  return not above and cwd or nil
end

---Starts the process: `cmd` of the configuration.
function M.spawn(dispatchers)
  return vim.lsp.rpc.start(options().cmd, dispatchers)
end

function M.before_init(params)
  -- Answers of `:Agentls ask` have their own buffers here.
  local given = vim.tbl_extend("keep", options().options, { answers = "none" })
  params.initializationOptions = vim.tbl_extend("keep", params.initializationOptions or {}, given)
end

-- By an autocommand: on_attach is the user's.
local function on_attach(ev)
  local client = vim.lsp.get_client_by_id(ev.data.client_id)
  if client and client.name == "agentls" and vim.bo[ev.buf].filetype == "agentls" and options().completion then
    require("agentls.complete").enable(client, ev.buf)
  end
end

function M.on_init(client)
  if modern then
    local group = vim.api.nvim_create_augroup("agentls.client", {})
    vim.api.nvim_create_autocmd("LspAttach", { group = group, callback = on_attach })
  end
  require("agentls.attach").watch(client)
  require("agentls.diagnostics").watch(M.notify_server)
  local waiters = waiting[client.id] or {}
  waiting[client.id] = nil
  vim.iter(waiters):each(function(fn)
    fn(client)
  end)
end

function M.on_exit(code, signal, id)
  vim.schedule(function()
    waiting[id] = nil
    for root, known in pairs(unattached) do
      if known == id then
        unattached[root] = nil
      end
    end
    require("agentls.approve").drop(function(question)
      return question.client_id == id
    end)
    require("agentls.run").on_exit(id, code, signal)
  end)
end

function M.on_show_document(err, params, ctx)
  showing = vim.lsp.get_client_by_id(ctx.client_id)
  local ok, result = pcall(vim.lsp.handlers["window/showDocument"], err, params, ctx)
  showing = nil
  return ok and result or { success = false }
end

-- The call style changed in 0.11; the old one is deprecated there.
local function call(client, method, ...)
  if modern then
    return client[method](client, ...)
  end
  return client[method](...)
end

---@param client vim.lsp.Client
---@param method string
---@param params table
function M.notify_server(client, method, params)
  call(client, "notify", method, params)
end

---@return vim.lsp.ClientConfig
local function client_config()
  if modern then
    return vim.deepcopy(vim.lsp.config.agentls)
  end
  local c = dofile(vim.api.nvim_get_runtime_file("lsp/agentls.lua", false)[1])
  c.capabilities = vim.tbl_deep_extend("force", vim.lsp.protocol.make_client_capabilities(), c.capabilities)
  return c
end

local function start_unattached(c)
  local key = c.root_dir or ""
  for _, client in ipairs(vim.lsp.get_clients({ name = "agentls" })) do
    if (client.root_dir or "") == key and not client:is_stopped() then
      return client.id
    end
  end
  if not unattached[key] then
    unattached[key] = modern and vim.lsp.start(c, { attach = false }) or vim.lsp.start_client(c)
  end
  return unattached[key]
end

---Calls fn with the client of a buffer, started when needed. Buffers of files get attached, so that the server
---sees them as they are in the editor.
---@param buf integer
---@param fn fun(client: vim.lsp.Client)
function M.with(buf, fn)
  local c = client_config()
  local function start(root)
    c.root_dir = root
    local file = vim.bo[buf].buftype == "" and vim.api.nvim_buf_get_name(buf) ~= ""
    local id = file and vim.lsp.start(c, { bufnr = buf, reuse_client = c.reuse_client }) or start_unattached(c)
    local client = id and vim.lsp.get_client_by_id(id)
    if not client then
      return -- Neovim has told why
    end
    if client.initialized then
      fn(client)
    else
      waiting[id] = waiting[id] or {}
      table.insert(waiting[id], fn)
    end
  end
  if type(c.root_dir) == "function" then
    c.root_dir(buf, start)
  else
    start(c.root_dir)
  end
end

---@param client vim.lsp.Client
---@param command string
---@param argument table
---@param token? string workDoneToken
---@param done fun(err: lsp.ResponseError?, result: any) not called after a cancel
---@return integer? request id; nil when the server is gone
function M.execute(client, command, argument, token, done)
  local params = { command = command, arguments = { argument }, workDoneToken = token }
  -- For no buffer, so that the changes of all of them are told first.
  local ok, id = call(client, "request", "workspace/executeCommand", params, done)
  return ok and id or nil
end

---@param client vim.lsp.Client
---@param request integer
function M.cancel_request(client, request)
  return call(client, "cancel_request", request)
end

return M
