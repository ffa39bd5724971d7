-- What other language servers found reaches the agent.
local harness = require("harness")
local check = harness.check

-- Diagnostics of line 2, as a language server of the editor would set them.
local set = [[
  local file, message = ...
  local buf = vim.fn.bufadd(file)
  vim.fn.bufload(buf)
  local space = vim.api.nvim_create_namespace("other")
  local list = {}
  if message then
    list[1] = { lnum = 1, col = 5, end_lnum = 1, end_col = 8, severity = 2, message = message, source = "lint", code = "W1",
      user_data = { lsp = { relatedInformation = { {
        location = { uri = vim.uri_from_bufnr(buf), range = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 1 } } },
        message = "see here",
      } } } } }
  end
  vim.diagnostic.set(space, buf, list)]]

---Waits until a resource of the workspace matches.
local function wait_resource(editor, uri, pattern)
  return editor:wait(pattern .. " in " .. uri, [[
    local uri, pattern = ...
    local client = vim.lsp.get_clients({ name = "agentls" })[1]
    local argument = { server = "workspace", uri = uri }
    local params = { command = "agentls.mcp.read", arguments = { argument } }
    local answers = client and vim.lsp.buf_request_sync(0, "workspace/executeCommand", params, 2000) or {}
    local _, answer = next(answers)
    local text = answer and answer.result and answer.result.contents[1].text
    return text and text:find(pattern) and text]], uri, pattern)
end

---@return string the last prompt that the provider got
local function last_prompt(world)
  local requests = world:requests()
  local messages = requests[#requests].messages
  return vim.inspect(messages[#messages].content)
end

return {
  {
    "diagnostics of the editor are resources, and follow it",
    function(world)
      harness.write(world, "notes.txt", "one\nä two\n")
      local editor = world:edit_prompt()
      editor:lua(set, "world.txt", "a word is wrong")
      editor:lua(set, "notes.txt", "another one")
      local text = wait_resource(editor, "diagnostics://all", "notes%.txt.*world%.txt:2:6: warning: a word is wrong %[lint W1%]")
      check(text:find("world%.txt:1:1: see here") and text:find("notes%.txt:2:[56]: warning: another one"), "%s", text)
      editor:lua(set, "world.txt", "it is mended")
      wait_resource(editor, "diagnostics://world.txt", "world%.txt:2:6: warning: it is mended")
      editor:type(":Agentls ask SAY seen @workspace:diagnostics://all<CR>")
      editor:wait_answer("## Agent\n\nseen")
      check(last_prompt(world):find("it is mended"), "%s", last_prompt(world))
      editor:lua(set, "world.txt")
      editor:lua(set, "notes.txt")
      wait_resource(editor, "diagnostics://all", "No diagnostics%.")
    end,
  },
  {
    "diagnostics go along with the lines they touch",
    function(world)
      local editor = world:edit_prompt()
      editor:lua(set, "world.txt", "a word is wrong")
      wait_resource(editor, "diagnostics://all", "a word is wrong")
      editor:type(":edit world.txt<CR>:2Agentls ask SAY look<CR>")
      editor:wait_answer("## Agent\n\nlook$")
      local text = last_prompt(world)
      check(text:find("<diagnostics path=") and text:find("2:6: warning: a word is wrong"), "%s", text)
    end,
  },
}
