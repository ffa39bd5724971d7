-- Worlds to test in: a project, a provider, an MCP server, and real editors that are typed into over their RPC.
local M = {}

local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
local patience = tonumber(vim.env.PATIENCE) or 15000 -- ms until a thing that should happen is given up

---@param ok any
---@param message string
---@return any ok
local function check(ok, message, ...)
  if not ok then
    error(select("#", ...) > 0 and message:format(...) or message, 0)
  end
  return ok
end
M.check = check

---Polls fn until it gives something; its value.
---@param what string
---@param fn fun(): any
---@param explain? fun(): string
function M.eventually(what, fn, explain)
  local value
  vim.wait(patience, function()
    value = fn()
    return value and true or false
  end, 20)
  return check(value, "%s: not within %d s%s", what, patience / 1000, explain and "\n" .. explain() or "")
end

---@param a any
---@param b any
function M.equal(a, b, what)
  check(vim.deep_equal(a, b), "%s: %s, expected %s", what or "value", vim.inspect(a), vim.inspect(b))
end

local function write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

---Writes a file of the project.
---@param name string
---@param text string
function M.write(world, name, text)
  write(world.project .. "/" .. name, text)
end

---@param path string
---@return table[]
local function read_log(path)
  local file = io.open(path)
  if not file then
    return {}
  end
  local text = file:read("*a")
  file:close()
  return vim.iter(text:gmatch("([^\n]*)\n")):map(vim.json.decode):totable()
end

-- A request to an editor that waits for keys would hang; a minute is enough for any test.
local watchdog_ms = 60000

---Calls fn; ends the editors of the world when it takes too long, which fails whatever waits for them.
---@param world World
---@param fn fun()
function M.guarded(world, fn)
  local timer = assert(vim.uv.new_timer())
  timer:start(watchdog_ms, 0, function()
    for _, editor in ipairs(world.editors) do
      vim.uv.kill(editor.pid, "sigkill")
    end
  end)
  local results = { xpcall(fn, function(err)
    return type(err) == "string" and not err:find("^%S+:%d+:") and err or debug.traceback(err)
  end, world) }
  timer:stop()
  timer:close()
  return unpack(results)
end

---@class World
---@field dir string
---@field project string
---@field editors Editor[]
---@field options table the server's configuration
local World = {}
World.__index = World

---@return World
function M.world()
  local self = setmetatable({ editors = {} }, World)
  self.dir = assert(vim.uv.fs_realpath(assert(vim.uv.fs_mkdtemp(vim.fs.dirname(vim.fn.tempname()) .. "/agentls-XXXXXX"))))
  self.project = self.dir .. "/project"
  write(self.project .. "/.git/HEAD", "ref: refs/heads/main\n")
  write(self.project .. "/world.txt", "the first line\nthe second line\n")
  local port
  self.provider = vim.fn.jobstart({ "node", here .. "/../../testing/provider.mjs", self.dir .. "/provider.log" }, {
    on_stdout = function(_, data)
      port = port or tonumber(data[1])
    end,
  })
  M.eventually("the provider's port", function()
    return port
  end)
  self.options = {
    workspaceTrusted = true,
    provider = "test",
    providers = { test = { baseURL = ("http://127.0.0.1:%d/v1"):format(port), apiKey = "none", model = "test" } },
    mcpServers = { test = { command = vim.fn.exepath("node"), args = { here .. "/../../testing/mcp.mjs", self.dir .. "/mcp.log" } } },
  }
  return self
end

---@return table[] the bodies of the requests to the provider
function World:requests()
  return vim
    .iter(read_log(self.dir .. "/provider.log"))
    :map(function(entry)
      return entry.request
    end)
    :totable()
end

---@return boolean whether a request to the provider was broken off
function World:hung_up()
  return vim.iter(read_log(self.dir .. "/provider.log")):any(function(entry)
    return entry.closed
  end)
end

---@param method string
---@return table[] the params of what the MCP server got
function World:received(method)
  return vim
    .iter(read_log(self.dir .. "/mcp.log"))
    :filter(function(entry)
      return entry.method == method
    end)
    :map(function(entry)
      return entry.params
    end)
    :totable()
end

function World:close()
  for _, editor in ipairs(self.editors) do
    editor:close()
  end
  vim.fn.jobstop(self.provider)
  vim.fn.jobwait({ self.provider }, 2000)
  if not vim.env.AGENTLS_TEST_KEEP then -- the audits are looked at when all is over
    vim.fn.delete(self.dir, "rf")
  end
end

---@class Editor
---@field channel integer
---@field pid integer
---@field world World
local Editor = {}
Editor.__index = Editor

---Starts an editor in the project.
---@param settings? {options?: table, stock?: boolean, files?: string[]} options: of vim.g.agentls
---@return Editor
function World:edit(settings)
  settings = settings or {}
  local options = vim.tbl_extend("keep", settings.options or {}, { cmd = { M.binary }, options = self.options })
  local env = {
    HOME = self.dir,
    XDG_CONFIG_HOME = self.dir .. "/config",
    XDG_STATE_HOME = self.dir .. "/state",
    XDG_DATA_HOME = self.dir .. "/data",
    XDG_CACHE_HOME = self.dir .. "/cache",
    AGENTLS_TEST_OPTIONS = vim.json.encode(options),
    AGENTLS_TEST_STOCK = settings.stock and "1" or nil,
  }
  local command = { M.nvim, "--embed", "-n", "-u", here .. "/minimal_init.lua" }
  local editor = setmetatable({ world = self }, Editor)
  editor.channel = vim.fn.jobstart(vim.list_extend(command, settings.files or {}), {
    rpc = true,
    cwd = self.project,
    env = env,
  })
  check(editor.channel > 0, "cannot start %s", M.nvim)
  editor.pid = vim.fn.jobpid(editor.channel)
  vim.rpcrequest(editor.channel, "nvim_ui_attach", 100, 40, vim.empty_dict()) -- a screen, so that prompts wait for keys
  table.insert(self.editors, editor)
  return editor
end

---Starts an editor with a prompt buffer, and waits for the MCP servers.
---@return Editor
function World:edit_prompt()
  local editor = self:edit({ files = { "a.agentls.md" } })
  editor:wait_server()
  return editor
end

---Runs Lua in the editor; `...` in the code are the arguments.
---@param code string
function Editor:lua(code, ...)
  return vim.rpcrequest(self.channel, "nvim_exec_lua", code, { ... })
end

---Types keys.
---@param keys string
function Editor:type(keys)
  vim.rpcrequest(self.channel, "nvim_input", keys)
end

---Waits until Lua in the editor gives something truthy.
---@param what string
---@param code string
function Editor:wait(what, code, ...)
  local args = { ... }
  return M.eventually(what, function()
    local value = self:lua(code, unpack(args))
    return value ~= vim.NIL and value
  end, function()
    return self:state()
  end)
end

---Waits until the editor asks for a number, as inputlist() does. Neovim 0.10 answers no other request meanwhile.
function Editor:wait_prompt()
  M.eventually("a prompt", function()
    local mode = vim.rpcrequest(self.channel, "nvim_get_mode")
    return mode.blocking or mode.mode == "c" and self:lua([[return vim.fn.getcmdtype() ~= ":"]])
  end)
end

---@return string[]
function Editor:lines()
  return vim.rpcrequest(self.channel, "nvim_buf_get_lines", 0, 0, -1, false)
end

---@param pattern string Lua pattern
function Editor:wait_note(pattern)
  return self:wait("the message " .. pattern, [[
    local pattern = ...
    return vim.iter(notes):find(function(note) return note:find(pattern) end)
      or vim.fn.execute("messages"):match(pattern) -- where Neovim 0.10 prints]], pattern)
end

---Waits until a file holds a text.
---@param path string
---@param text string
---@return string all of the file
function Editor:wait_file(path, text)
  return M.eventually(("%s in %s"):format(text, path), function()
    local file = io.open(path)
    local all = file and file:read("*a") or ""
    if file then
      file:close()
    end
    return all:find(text, 1, true) and all
  end, function()
    return self:state()
  end)
end

---Waits until the MCP server's tools and resources are there.
function Editor:wait_server()
  self:wait("the MCP server", [[return server_ready()]])
end

---@return table[] items of the completion popup
function Editor:wait_popup(what)
  return self:wait(what, [[
    local info = vim.fn.complete_info({ "pum_visible", "items" })
    return info.pum_visible == 1 and info.items]])
end

---@param pattern string Lua pattern in the text of an answer buffer
---@return string text
function Editor:wait_answer(pattern)
  return self:wait("an answer with " .. pattern, [[
    local pattern = ...
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
      if vim.api.nvim_buf_get_name(buf):find("^agentls://") and text:find(pattern) then
        return text
      end
    end]], pattern)
end

function Editor:wait_idle()
  self:wait("the end of all runs", [[return #require("agentls.run").list() == 0]])
end

---@return string
function Editor:state()
  return self:lua([[
    local out = { "notes: " .. vim.inspect(notes), "mode: " .. vim.api.nvim_get_mode().mode }
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      local lines = vim.api.nvim_buf_get_lines(buf, 0, 30, false)
      table.insert(out, ("buffer %q:\n  %s"):format(vim.api.nvim_buf_get_name(buf), table.concat(lines, "\n  ")))
      if package.loaded["agentls.mark"] then
        table.insert(out, "marks: " .. vim.inspect(require("agentls.mark").texts(buf)))
      end
    end
    table.insert(out, "messages: " .. vim.api.nvim_exec2("messages", { output = true }).output:sub(-2000))
    return table.concat(out, "\n")]])
end

---@return integer[] process ids of the servers
function Editor:servers()
  return self:lua([[
    return vim.iter(vim.api.nvim_get_proc_children(vim.fn.getpid())):totable()]])
end

function Editor:close()
  pcall(vim.rpcnotify, self.channel, "nvim_command", "qall!")
  if vim.fn.jobwait({ self.channel }, 5000)[1] == -1 then
    vim.uv.kill(self.pid, "sigkill")
  end
end

return M
