-- `:Agentls setup`, from nothing that is chosen to an answer.
local harness = require("harness")
local check, equal = harness.check, harness.equal

-- The user's own file names a provider, and nobody has chosen a model. The editor's settings, which would count more,
-- say nothing of one.
local function unset(world)
  local base = world.options.providers.test.baseURL
  world.options.provider, world.options.providers = nil, nil
  local path = world.dir .. "/config/agentls/config.json"
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  vim.fn.writefile({ "{", "  // mine", ('  "providers": { "home": { "baseURL": %q } }'):format(base), "}" }, path)
  return path
end

return {
  {
    "a model is chosen of those that are found, and answers",
    function(world)
      local path = unset(world)
      local editor = world:edit()
      editor:lua([[choose("test of home")]])
      editor:type(":Agentls setup<CR>")
      editor:wait_note("test of home is set up, in .*config%.json")
      local questions = editor:lua([[return questions]])
      equal(questions[1].titles, { "test of home" })
      check(vim.startswith(table.concat(vim.fn.readfile(path), "\n"), '{\n  // mine\n  "providers": {'), "the comment is gone")
      editor:type(":Agentls ask SAY set up<CR>")
      editor:wait_answer("## Agent\n\nset up$")
      equal(world:requests()[1].model, "test")
    end,
  },
  {
    "where nothing is found it is said what to do",
    function(world)
      local path = unset(world)
      vim.fn.writefile({ '{ "providers": { "away": { "baseURL": "http://127.0.0.1:1/v1" } } }' }, path)
      local editor = world:edit()
      editor:type(":Agentls setup<CR>")
      editor:wait_note("no model was found; start a program that serves one, .*away: cannot reach 127%.0%.0%.1:1")
    end,
  },
}
