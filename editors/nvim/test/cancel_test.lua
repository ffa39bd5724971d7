-- Runs that end early.
local harness = require("harness")
local check, equal = harness.check, harness.equal

return {
  {
    "a cancel ends a streaming answer, and the next prompt works",
    function(world)
      local editor = world:edit_prompt()
      editor:type("iSLOW<Esc>:Agentls send<CR>")
      editor:wait("the state", [[return vim.iter(require("agentls.mark").texts(0)):any(function(t) return t:find("^running") ~= nil end)]])
      editor:wait("words", [[return vim.fn.search("word5 ", "nw") > 0]])
      local started = vim.uv.hrtime()
      editor:type(":Agentls cancel<CR>")
      editor:wait_idle()
      check((vim.uv.hrtime() - started) / 1e9 < 5, "the cancel took long")
      harness.eventually("the provider sees it", function()
        return world:hung_up()
      end)
      equal(editor:lua([[return require("agentls.mark").texts(0)]]), { "cancelled" })
      editor:wait("a new turn", [[return vim.fn.getline(vim.fn.line("$") - 1) == "## You" or vim.fn.getline("$") == "## You"]])
      editor:type("GoSAY afterwards<Esc>:Agentls send<CR>")
      editor:wait("the next answer", [[return vim.fn.search("^afterwards$", "nw") > 0]])
    end,
  },
  {
    "a cancel reaches the MCP server whose tool runs",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose("Allow once")]])
      editor:type([[:Agentls ask CALL sleep {}<CR>]])
      harness.eventually("the call", function()
        return #world:received("tools/call") == 1
      end, function()
        return editor:state()
      end)
      editor:type(":Agentls cancel<CR>")
      editor:wait_idle()
      harness.eventually("notifications/cancelled", function()
        return #world:received("notifications/cancelled") == 1
      end)
      editor:wait_answer("CALL sleep")
      editor:type(":Agentls cancel<CR>")
      editor:wait_note("nothing is running")
    end,
  },
  {
    "runs of several buffers: a cancel ends that of its buffer",
    function(world)
      local editor = world:edit_prompt()
      editor:type("iSLOW<Esc>:Agentls send<CR>")
      editor:wait("words", [[return vim.fn.search("word10$", "nw") > 0]])
      editor:type(":edit b.agentls.md<CR>iSLOW too<Esc>:Agentls send<CR>")
      editor:wait("words", [[return vim.fn.search("word10$", "nw") > 0]])
      editor:type(":buffer a.agentls.md<CR>:Agentls cancel<CR>")
      editor:wait("one run less", [[return #require("agentls.run").list() == 1]])
      editor:type(":buffer b.agentls.md<CR>")
      editor:wait("more words", [[return vim.fn.search("word100$", "nw") > 0]])
      equal(editor:lua([[return require("agentls.mark").texts(vim.fn.bufnr("a.agentls.md"))]]), { "cancelled" })
    end,
  },
  {
    "the server dies: the run fails with a message, and the next command starts it again",
    function(world)
      local editor = world:edit_prompt()
      editor:type(":Agentls ask SLOW<CR>")
      editor:wait_answer("word5 ")
      local servers = editor:servers()
      equal(#servers, 1, "servers")
      vim.uv.kill(servers[1], "sigkill")
      editor:wait_note("the server ended by signal 9")
      editor:wait_idle()
      editor:type(":Agentls ask SAY again<CR>")
      editor:wait_answer("## Agent\n\nagain$")
    end,
  },
}
