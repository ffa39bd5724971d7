-- `:Agentls ask` and `:Agentls log`.
local harness = require("harness")
local check, equal = harness.check, harness.equal

return {
  {
    "ask streams the answer into a buffer of its session, and goes on in it",
    function(world)
      local editor = world:edit({ files = { "world.txt" } })
      editor:type(":Agentls ask Who are you?<CR>")
      local text = editor:wait_answer("Hello from the agent%.$")
      equal(text, "## You\n\nWho are you?\n\n## Agent\n\nHello from the agent.")
      editor:wait_idle()
      equal(editor:lua([[return { vim.bo.filetype, vim.fn.expand("%:t"), #vim.api.nvim_list_wins() }]]), { "text", "world.txt", 2 })
      editor:type("<C-w>w")
      editor:wait("the answer's window", [[return vim.b.agentls_session]])
      equal(editor:lua([[return { vim.bo.filetype, vim.bo.modified, vim.bo.modifiable, vim.bo.buftype }]]), { "markdown", false, false, "nofile" })
      editor:type(":Agentls ask SAY more<CR>")
      editor:wait_answer("## You\n\nSAY more\n\n## Agent\n\nmore$")
      check(#world:requests()[2].messages > #world:requests()[1].messages, "the second prompt has no history")
    end,
  },
  {
    "ask without a prompt asks for one",
    function(world)
      local editor = world:edit()
      editor:type(":Agentls ask<CR>SAY typed<CR>")
      editor:wait_answer("## Agent\n\ntyped$")
    end,
  },
  {
    "ask with a range attaches the lines as they are in the editor",
    function(world)
      local editor = world:edit({ files = { "world.txt" } })
      editor:type("jcc" .. "unsaved line<Esc>:Agentls ask SAY read<CR><Esc>")
      editor:wait_answer("## Agent\n\nread$")
      local before = vim.json.encode(world:requests()[1])
      check(not before:find("unsaved line", 1, true), "lines were sent without a range")
      editor:type(":2Agentls ask SAY ranged<CR>")
      editor:wait_answer("## Agent\n\nranged$")
      local body = vim.json.encode(world:requests()[2].messages)
      check(body:find("unsaved line", 1, true), "the range is not in the request")
      check(not body:find("the first line", 1, true), "more than the range is in the request")
    end,
  },
  {
    "a detached run streams, is shown to its end, and can be cancelled",
    function(world)
      world.options.detached = "always"
      local editor = world:edit_prompt()
      editor:type(":Agentls ask SAY detached<CR>")
      editor:wait_answer("## Agent\n\ndetached$")
      editor:wait_idle()
      editor:type(":Agentls ask SLOW<CR>")
      editor:wait_answer("word10\n")
      editor:type(":Agentls cancel<CR>")
      editor:wait_idle()
      harness.eventually("the provider sees it", function()
        return world:hung_up()
      end)
    end,
  },
  {
    "the log shows what the server logged",
    function(world)
      local editor = world:edit_prompt()
      editor:type(":Agentls ask SAY logged<CR>")
      editor:wait_answer("## Agent\n\nlogged$")
      editor:type(":Agentls log<CR>")
      editor:wait("the log's window", [[return vim.api.nvim_buf_get_name(0) == "agentls://log"]])
    end,
  },
}
