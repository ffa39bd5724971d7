-- `:Agentls send` in a prompt buffer.
local harness = require("harness")
local check, equal = harness.check, harness.equal

return {
  {
    "send: the server writes the answer below the prompt, and the next one goes on",
    function(world)
      local editor = world:edit_prompt()
      editor:type("i## You<CR><CR>SAY one<Esc>:Agentls send<CR>")
      editor:wait("the answer", [[return vim.fn.getline("$") ~= "SAY one" and vim.fn.search("^## You$", "nw") > 0 and #vim.fn.getline(1, "$") > 6]])
      editor:wait_idle()
      local text = vim.trim(table.concat(editor:lines(), "\n"))
      equal(text, "## You\n\nSAY one\n\n## Agent\n\none\n\n## You")
      equal(editor:lua([[return require("agentls.mark").texts(0)]]), {}, "marks after the answer")
      editor:type("GoSAY two<Esc>:Agentls send<CR>")
      editor:wait("the second answer", [[return vim.fn.search("^two$", "nw") > 0]])
      editor:wait_idle()
      check(vim.json.encode(world:requests()[2].messages):find("SAY one", 1, true), "the second prompt has no history")
    end,
  },
  {
    "send: what is typed meanwhile stays",
    function(world)
      local editor = world:edit_prompt()
      editor:type("iSLOW<Esc>:Agentls send<CR>")
      for n = 10, 150, 10 do
        editor:wait("word " .. n, [[return vim.fn.search(("word%d$"):format(...), "nw") > 0]], n)
        editor:type("ggOtyped " .. n .. "<Esc>")
      end
      editor:type(":Agentls cancel<CR>")
      editor:wait_idle()
      local lines = editor:lines()
      equal({ lines[1], lines[16] }, { "typed 150", "SLOW" })
      local text = table.concat(lines, " ")
      for n = 1, 149 do
        check(text:find(("word%d word%d "):format(n, n + 1)), "word %d is missing in\n%s", n, text)
      end
      equal(editor:lua([[return notes]]), {}, "messages")
    end,
  },
  {
    "a mention in a prompt is expanded",
    function(world)
      local editor = world:edit_prompt()
      editor:type("iSHOW @test:test://docs/world.md<Esc>:Agentls send<CR>")
      editor:wait("the answer", [[return vim.fn.search("Seen: Contents of test://docs/world.md", "nw") > 0]])
    end,
  },
  {
    "a provider that is not there: the run fails with a message",
    function(world)
      world.options.providers.test.baseURL = "http://127.0.0.1:9/v1"
      local editor = world:edit_prompt()
      editor:type("ihello<Esc>:Agentls send<CR>")
      editor:wait_note("agentls: .*127%.0%.0%.1:9")
      editor:wait_idle()
      check(editor:lua([[return require("agentls.mark").texts(0)[1]:find("^failed: ") ~= nil]]), "no mark")
    end,
  },
}
