-- How the plugin starts the server, and what it says when it cannot.
local harness = require("harness")
local check, equal = harness.check, harness.equal

return {
  {
    "nothing of the plugin is loaded until it is used",
    function(world)
      local editor = world:edit()
      equal(editor:lua([[
        return vim.iter(vim.tbl_keys(package.loaded)):filter(function(name)
          return vim.startswith(name, "agentls")
        end):totable()]]), {})
      equal(editor:lua([[return vim.fn.getcompletion("Agentls s", "cmdline")]]), { "send", "setup" })
      equal(editor:lua([[return vim.fn.getcompletion("'<,'>Agentls ", "cmdline")]]), { "ask", "cancel", "log", "send", "setup", "undo" })
    end,
  },
  {
    "a document that the server shows is the same server's",
    function(world)
      local editor = world:edit_prompt()
      local path = world.dir .. "/state/agentls/prompts/now.agentls.md"
      editor:lua([[
        local client = vim.lsp.get_clients({ name = "agentls" })[1]
        vim.fn.mkdir(vim.fs.dirname(...), "p")
        vim.fn.writefile({ "## You" }, (...))
        local handler = client.handlers["window/showDocument"]
        shown = handler(nil, { uri = vim.uri_from_fname(...), takeFocus = true }, { client_id = client.id })]], path)
      editor:wait("the document", [[return vim.api.nvim_buf_get_name(0) == ... and shown.success]], path)
      editor:wait("the client", [[return #vim.lsp.get_clients({ bufnr = 0, name = "agentls" }) == 1]])
      equal(editor:lua([[return #vim.lsp.get_clients({ name = "agentls" })]]), 1, "clients")
    end,
  },
  {
    "prompt buffers look like Markdown",
    function(world)
      local editor = world:edit_prompt()
      check(editor:lua([[return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil]]), "no tree-sitter")
      editor:lua([[
        vim.treesitter.start = function() error("no parser") end
        vim.cmd.edit("b.agentls.md")]])
      equal(editor:lua([[return { vim.bo.syntax, vim.b.current_syntax }]]), { "agentls", "agentls" })
      editor:type("i## You<Esc>")
      editor:wait("the heading's colour", [[return vim.fn.synIDattr(vim.fn.synID(1, 4, 1), "name"):find("^markdown") ~= nil]])
    end,
  },
  {
    "closing the editor ends the server and its children",
    function(world)
      local editor = world:edit_prompt()
      editor:type(":Agentls ask SLOW<CR>")
      editor:wait_answer("word5 ")
      local pid = editor:servers()[1]
      local children = editor:lua([[return vim.api.nvim_get_proc_children(...)]], pid)
      editor:close()
      for _, process in ipairs(vim.list_extend({ pid }, children)) do
        harness.eventually("the end of " .. process, function()
          return vim.uv.kill(process, 0) ~= 0
        end)
      end
    end,
  },
  {
    "a missing binary is named when a prompt buffer opens",
    function(world)
      local editor = world:edit({ options = { cmd = { "/nowhere/agentls" } }, files = { "a.agentls.md" } })
      editor:wait_note("/nowhere/agentls")
      editor:type(":Agentls send<CR>")
      editor:wait("a second message", [[return #notes >= 2]])
    end,
  },
  {
    "a wrong option is named, and the rest works",
    function(world)
      local editor = world:edit({ options = { split = "sideways", command = "x" } })
      editor:type(":Agentls ask SAY fine<CR>")
      editor:wait_answer("## Agent\n\nfine$")
      editor:wait_note("vim.g.agentls.split must be one of")
      editor:wait_note("vim.g.agentls.command is unknown")
    end,
  },
  {
    "wrong commands say what is right",
    function(world)
      local editor = world:edit({ files = { "world.txt" } })
      editor:type(":Agentls dance<CR>")
      editor:wait_note('no command "dance"; there are ask, cancel, log, send')
      editor:type(":Agentls send<CR>")
      editor:wait_note("only a prompt buffer can be sent")
    end,
  },
  {
    "checkhealth is green",
    function(world)
      local editor = world:edit_prompt()
      editor:type(":checkhealth agentls<CR>")
      editor:wait("the report", [[return vim.bo.filetype == "checkhealth" and vim.fn.search("client %d", "nw") >= 0 and vim.fn.line("$") > 4]])
      local text = table.concat(editor:lines(), "\n")
      check(not text:find("ERROR") and text:find("a%.agentls%.md"), "%s", text)
    end,
  },
  {
    "Neovim below 0.10 gets a message and no command",
    function(world)
      local editor = world:edit({ stock = true })
      local plugin = vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))) .. "/plugin/agentls.lua"
      editor:lua([[
        vim.fn.has = function() return 0 end
        dofile(...)]], plugin)
      check(editor:lua([[return vim.fn.exists(":Agentls") == 0 and vim.fn.execute("messages")]]):find("needs Neovim 0.10"), "no message")
    end,
  },
}
