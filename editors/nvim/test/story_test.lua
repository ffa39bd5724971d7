-- What a user does, with the plugin.
local harness = require("harness")
local check, equal = harness.check, harness.equal

-- Leaves out what the server's own tests cover: here counts what the editor shows and does.

local function open_prompt(world, settings)
  local editor = world:edit(vim.tbl_extend("keep", { files = { "a.agentls.md" } }, settings or {}))
  editor:wait_server()
  return editor
end

local function popup(editor, what)
  return editor:wait(what, [[
    local info = vim.fn.complete_info({ "pum_visible", "items" })
    return info.pum_visible == 1 and info.items]])
end

local function answer(editor, pattern)
  return editor:wait("an answer with " .. pattern, [[
    local pattern = ...
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
      if vim.api.nvim_buf_get_name(buf):find("^agentls://") and text:find(pattern) then
        return text
      end
    end]], pattern)
end

local function idle(editor)
  editor:wait("the end of all runs", [[return #require("agentls.run").list() == 0]])
end

return {
  {
    "nothing of the plugin is loaded until it is used",
    function(world)
      local editor = world:edit()
      equal(editor:lua([[
        return vim.iter(vim.tbl_keys(package.loaded)):filter(function(name)
          return vim.startswith(name, "agentls")
        end):totable()]]), {})
      equal(editor:lua([[return vim.fn.getcompletion("Agentls s", "cmdline")]]), { "send" })
      equal(editor:lua([[return vim.fn.getcompletion("'<,'>Agentls ", "cmdline")]]), { "ask", "cancel", "log", "send" })
    end,
  },
  {
    "a mention completes while it is typed, and is accepted",
    modern = true,
    function(world)
      local editor = open_prompt(world)
      editor:type("iSee @wor")
      popup(editor, "a popup after @wor")
      editor:type("kspace:")
      popup(editor, "a popup after the colon")
      editor:type("file:/")
      popup(editor, "a popup after the slash")
      editor:type("/wor")
      editor:wait("the popup's only item", [[
        local items = vim.fn.complete_info({ "items", "pum_visible" })
        return items.pum_visible == 1 and #items.items == 1]])
      editor:type("<C-n><C-y> now")
      editor:wait("the mention in the text", [[return vim.api.nvim_get_current_line() == "See @workspace:file://world.txt now"]])
    end,
  },
  {
    "the popup comes back after characters that close it",
    modern = true,
    function(world)
      local editor = open_prompt(world)
      editor:type("i@test:test://docs/other")
      popup(editor, "a popup for the path")
      editor:type("-p")
      popup(editor, "a popup after the hyphen")
      editor:type("<C-n><C-y>")
      editor:wait("the mention in the text", [[return vim.api.nvim_get_current_line() == "@test:test://docs/other-page.md"]])
    end,
  },
  {
    "ask streams the answer into a buffer of its session, and goes on in it",
    function(world)
      local editor = world:edit({ files = { "world.txt" } })
      editor:type(":Agentls ask Who are you?<CR>")
      local text = answer(editor, "Hello from the agent%.$")
      equal(text, "## You\n\nWho are you?\n\n## Agent\n\nHello from the agent.")
      idle(editor)
      equal(editor:lua([[return { vim.bo.filetype, vim.fn.expand("%:t"), #vim.api.nvim_list_wins() }]]), { "text", "world.txt", 2 })
      editor:type("<C-w>w")
      editor:wait("the answer's window", [[return vim.b.agentls_session]])
      equal(editor:lua([[return { vim.bo.filetype, vim.bo.modified, vim.bo.modifiable, vim.bo.buftype }]]), { "markdown", false, false, "nofile" })
      editor:type(":Agentls ask SAY more<CR>")
      answer(editor, "## You\n\nSAY more\n\n## Agent\n\nmore$")
      check(#world:requests()[2].messages > #world:requests()[1].messages, "the second prompt has no history")
    end,
  },
  {
    "ask without a prompt asks for one",
    function(world)
      local editor = world:edit()
      editor:type(":Agentls ask<CR>SAY typed<CR>")
      answer(editor, "## Agent\n\ntyped$")
    end,
  },
  {
    "ask with a range attaches the lines as they are in the editor",
    function(world)
      local editor = world:edit({ files = { "world.txt" } })
      editor:type("jcc" .. "unsaved line<Esc>:Agentls ask SAY read<CR><Esc>")
      answer(editor, "## Agent\n\nread$")
      local before = vim.json.encode(world:requests()[1])
      check(not before:find("unsaved line", 1, true), "lines were sent without a range")
      editor:type(":2Agentls ask SAY ranged<CR>")
      answer(editor, "## Agent\n\nranged$")
      local body = vim.json.encode(world:requests()[2])
      check(body:find("unsaved line", 1, true), "the range is not in the request")
      check(not body:find("the first line", 1, true), "more than the range is in the request")
    end,
  },
  {
    "send: the server writes the answer below the prompt, and the next one goes on",
    function(world)
      local editor = open_prompt(world)
      editor:type("i## You<CR><CR>SAY one<Esc>:Agentls send<CR>")
      editor:wait("the answer", [[return vim.fn.getline("$") ~= "SAY one" and vim.fn.search("^## You$", "nw") > 0 and #vim.fn.getline(1, "$") > 6]])
      idle(editor)
      local text = vim.trim(table.concat(editor:lines(), "\n"))
      equal(text, "## You\n\nSAY one\n\n## Agent\n\none\n\n## You")
      equal(editor:lua([[return require("agentls.mark").texts(0)]]), {}, "marks after the answer")
      editor:type("GoSAY two<Esc>:Agentls send<CR>")
      editor:wait("the second answer", [[return vim.fn.search("^two$", "nw") > 0]])
      idle(editor)
      check(vim.json.encode(world:requests()[2].messages):find("SAY one", 1, true), "the second prompt has no history")
    end,
  },
  {
    "send: what is typed meanwhile stays",
    function(world)
      local editor = open_prompt(world)
      editor:type("iSLOW<Esc>:Agentls send<CR>")
      for n = 10, 150, 10 do
        editor:wait("word " .. n, [[return vim.fn.search(("word%d$"):format(...), "nw") > 0]], n)
        editor:type("ggOtyped " .. n .. "<Esc>")
      end
      editor:type(":Agentls cancel<CR>")
      idle(editor)
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
      local editor = open_prompt(world)
      editor:type("iSHOW @test:test://docs/world.md<Esc>:Agentls send<CR>")
      editor:wait("the answer", [[return vim.fn.search("Seen: Contents of test://docs/world.md", "nw") > 0]])
    end,
  },
  {
    "a tool runs when it is allowed",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[choose("Allow once")]])
      editor:type([[:Agentls ask CALL echo {"text": "good day"}<CR>]])
      equal(
        answer(editor, "Tool said: .*echo good day"):gsub("Tool said: .*", ""),
        '## You\n\nCALL echo {"text": "good day"}\n\n## Agent\n\nCalling echo.\n\n'
      )
      equal(#world:received("tools/call"), 1, "calls")
      local question = editor:lua([[return questions[1] ]])
      equal(question.titles, { "Deny", "Allow once", "Allow for this session", "Always allow" })
      equal(question.prompt, [[Run test/echo {"text":"good day"}?]])
    end,
  },
  {
    "Neovim's own select: a number allows, Escape denies",
    function(world)
      local editor = open_prompt(world)
      editor:type([[:Agentls ask CALL echo {"text": "by number"}<CR>]])
      editor:wait_prompt()
      editor:type("2<CR>")
      answer(editor, "Tool said: .*echo by number")
      editor:type([[:Agentls ask CALL echo {"text": "escaped"}<CR>]])
      editor:wait_prompt()
      editor:type("<Esc>")
      idle(editor)
      equal(#world:received("tools/call"), 1, "calls")
    end,
  },
  {
    "a tool does not run when it is denied or the question is dismissed",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[choose("Deny")]])
      editor:type([[:Agentls ask CALL echo {"text": "one"}<CR>]])
      answer(editor, "## Agent\n\n%S")
      idle(editor)
      editor:lua([[choose("")]])
      editor:type([[:Agentls ask CALL echo {"text": "two"}<CR>]])
      editor:wait("the second question", [[return #questions == 2]])
      idle(editor)
      equal(#world:received("tools/call"), 0, "calls")
    end,
  },
  {
    "a question waits until typing has ended, and shows all of long arguments",
    function(world)
      local editor = open_prompt(world)
      editor:type([[:Agentls ask CALL echo {"text": "]] .. ("long "):rep(40) .. [[end"}<CR>itext]])
      editor:wait_note("a question waits for you")
      equal(editor:lua([[return vim.api.nvim_get_mode().mode]]), "i")
      editor:type("2<CR>y")
      editor:wait("the text", [[return vim.fn.getline(2) == "y"]])
      equal(#world:received("tools/call"), 0, "calls")
      editor:lua([[choose()]])
      editor:type("<Esc>")
      editor:wait("the question", [[return #questions == 1]])
      check(editor:lua([[
        return vim.iter(vim.api.nvim_list_wins()):any(function(win)
          local text = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), "\n")
          return vim.api.nvim_win_get_config(win).relative == "editor" and text:find("text: .*long end") ~= nil
        end)]]), "no window with the arguments")
      editor:lua([[answer_question("Allow once")]])
      answer(editor, "Tool said: .*end")
      equal(editor:lua([[return #vim.api.nvim_list_wins()]]), 2, "windows")
    end,
  },
  {
    "questions come one at a time",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[choose()]])
      editor:type([[:Agentls ask CALL echo {"text": "one"}<CR>]])
      editor:type([[:Agentls ask CALL echo {"text": "two"}<CR>]])
      editor:wait("two waiting runs", [[
        return vim.iter(require("agentls.run").list()):all(function(run) return run.status == "waiting" end)]])
      equal(editor:lua([[return #questions]]), 1, "questions")
      editor:lua([[answer_question("Deny")]])
      editor:wait("the second", [[return #questions == 2]])
      editor:lua([[answer_question("Allow once")]])
      idle(editor)
      equal(#world:received("tools/call"), 1, "calls")
    end,
  },
  {
    "a cancel closes the question; a late yes allows nothing",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[choose()]])
      editor:type([[:Agentls ask CALL echo {"text": "no"}<CR>]])
      editor:wait("the question", [[return #questions == 1]])
      editor:type(":Agentls cancel<CR>")
      idle(editor)
      editor:lua([[answer_question("Allow once")]])
      editor:wait_note("the question was closed")
      editor:lua([[choose("Deny")]])
      editor:type([[:Agentls ask SAY next<CR>]])
      answer(editor, "## Agent\n\nnext$")
      equal(#world:received("tools/call"), 0, "calls")
    end,
  },
  {
    "Neovim's own select is closed when its run ends",
    modern = true,
    function(world)
      local editor = open_prompt(world)
      editor:type([[:Agentls ask CALL echo {"text": "no"}<CR>]])
      editor:wait_prompt()
      editor:lua([[require("agentls").cancel()]])
      editor:wait("the end of the prompt", [[return vim.api.nvim_get_mode().mode == "n"]])
      idle(editor)
      equal(#world:received("tools/call"), 0, "calls")
    end,
  },
  {
    "a new resource is told and completes",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[choose("Allow once")]])
      editor:type([[:Agentls ask CALL add_resource {"name": "late.md"}<CR>]])
      answer(editor, "Tool said")
      editor:wait_note("test.*resource")
      if harness.modern then
        editor:type("i@test:test://docs/late")
        popup(editor, "the new resource")
        editor:type("<C-n><C-y>")
      else
        editor:type("i@test:test://docs/late<C-x><C-o>") -- the only one is taken at once
      end
      editor:wait("the mention", [[return vim.api.nvim_get_current_line() == "@test:test://docs/late.md"]])
    end,
  },
  {
    "a cancel ends a streaming answer, and the next prompt works",
    function(world)
      local editor = open_prompt(world)
      editor:type("iSLOW<Esc>:Agentls send<CR>")
      editor:wait("the state", [[return vim.iter(require("agentls.mark").texts(0)):any(function(t) return t:find("^running") ~= nil end)]])
      editor:wait("words", [[return vim.fn.search("word5 ", "nw") > 0]])
      local started = vim.uv.hrtime()
      editor:type(":Agentls cancel<CR>")
      idle(editor)
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
      local editor = open_prompt(world)
      editor:lua([[choose("Allow once")]])
      editor:type([[:Agentls ask CALL sleep {}<CR>]])
      harness.eventually("the call", function()
        return #world:received("tools/call") == 1
      end, function()
        return editor:state()
      end)
      editor:type(":Agentls cancel<CR>")
      idle(editor)
      harness.eventually("notifications/cancelled", function()
        return #world:received("notifications/cancelled") == 1
      end)
      answer(editor, "CALL sleep")
      editor:type(":Agentls cancel<CR>")
      editor:wait_note("nothing is running")
    end,
  },
  {
    "runs of several buffers: a cancel ends that of its buffer",
    function(world)
      local editor = open_prompt(world)
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
    "a detached run streams, is shown to its end, and can be cancelled",
    function(world)
      world.options.detached = "always"
      local editor = open_prompt(world)
      editor:type(":Agentls ask SAY detached<CR>")
      answer(editor, "## Agent\n\ndetached$")
      idle(editor)
      editor:type(":Agentls ask SLOW<CR>")
      answer(editor, "word10\n")
      editor:type(":Agentls cancel<CR>")
      idle(editor)
      harness.eventually("the provider sees it", function()
        return world:hung_up()
      end)
    end,
  },
  {
    "a provider that is not there: the run fails with a message",
    function(world)
      world.options.providers.test.baseURL = "http://127.0.0.1:9/v1"
      local editor = open_prompt(world)
      editor:type("ihello<Esc>:Agentls send<CR>")
      editor:wait_note("agentls: .*127%.0%.0%.1:9")
      idle(editor)
      check(editor:lua([[return require("agentls.mark").texts(0)[1]:find("^failed: ") ~= nil]]), "no mark")
    end,
  },
  {
    "a project's server starts after its folder and it are trusted, and all of it is shown",
    function(world)
      local server = world.options.mcpServers.test
      world.options.workspaceTrusted, world.options.mcpServers = nil, nil
      harness.write(world, ".mcp.json", vim.json.encode({ mcpServers = { test = server } }))
      local editor = world:edit({ files = { "a.agentls.md" } })
      editor:lua([[choose()]])
      local function question(n)
        editor:wait("question " .. n, [[return #questions >= ...]], n)
        return editor:lua([[return questions[...] ]], n)
      end
      equal(question(1).titles, { "Not now", "Trust folder" })
      editor:lua([[answer_question("Trust folder")]])
      equal(question(2).titles, { "Not now", "Trust and start" })
      equal(question(2).prompt, "Trust test?")
      local shown = editor:lua([[
        return vim.iter(vim.api.nvim_list_wins()):map(function(win)
          return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), "\n")
        end):join("\n")]])
      check(shown:find("mcp.mjs", 1, true) and shown:find("command: ", 1, true), "what would start is not shown: %s", shown)
      equal(#world:received("initialize"), 0, "starts before the answer")
      editor:lua([[answer_question("Trust and start")]])
      editor:wait_server()
    end,
  },
  {
    "a document that the server shows is the same server's",
    function(world)
      local editor = open_prompt(world)
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
      local editor = open_prompt(world)
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
    "the server dies: the run fails with a message, and the next command starts it again",
    function(world)
      local editor = open_prompt(world)
      editor:type(":Agentls ask SLOW<CR>")
      answer(editor, "word5 ")
      local servers = editor:servers()
      equal(#servers, 1, "servers")
      vim.uv.kill(servers[1], "sigkill")
      editor:wait_note("the server ended by signal 9")
      idle(editor)
      editor:type(":Agentls ask SAY again<CR>")
      answer(editor, "## Agent\n\nagain$")
    end,
  },
  {
    "closing the editor ends the server and its children",
    function(world)
      local editor = open_prompt(world)
      editor:type(":Agentls ask SLOW<CR>")
      answer(editor, "word5 ")
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
      answer(editor, "## Agent\n\nfine$")
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
      local editor = open_prompt(world)
      editor:type(":checkhealth agentls<CR>")
      editor:wait("the report", [[return vim.bo.filetype == "checkhealth" and vim.fn.search("client %d", "nw") >= 0 and vim.fn.line("$") > 4]])
      local text = table.concat(editor:lines(), "\n")
      check(not text:find("ERROR") and text:find("a%.agentls%.md"), "%s", text)
    end,
  },
  {
    "the log shows what the server logged",
    function(world)
      local editor = open_prompt(world)
      editor:type(":Agentls ask SAY logged<CR>")
      answer(editor, "## Agent\n\nlogged$")
      editor:type(":Agentls log<CR>")
      editor:wait("the log's window", [[return vim.api.nvim_buf_get_name(0) == "agentls://log"]])
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
