-- What a user does without the plugin: Neovim's own client, vim.lsp.start and nothing else.
local harness = require("harness")
local check, equal = harness.check, harness.equal

local function open_prompt(world)
  local editor = world:edit({ stock = true })
  editor:lua([[
    vim.o.completeopt = "menuone,noselect"
    vim.cmd.edit("a.agentls.md")
    vim.bo.filetype = "agentls"
    vim.lsp.start({ name = "agentls", cmd = vim.g.agentls.cmd, root_dir = vim.fn.getcwd(), init_options = vim.g.agentls.options })
    function execute(command, argument)
      vim.lsp.buf_request(0, "workspace/executeCommand", { command = command, arguments = { argument } }, function(err, result)
        last_answer = { err = err, result = result }
      end)
    end]])
  editor:wait_server()
  return editor
end

-- Completion as Neovim's own client has it since 0.11.
local function autotrigger(editor)
  editor:lua([[
    local client = vim.lsp.get_clients({ name = "agentls", bufnr = 0 })[1]
    vim.lsp.completion.enable(true, client.id, 0, { autotrigger = true })]])
end

-- Waits until the popup holds what puts in a text; its place there.
local function wait_item(editor, what, word)
  return editor:wait(what, [[
    local word = ...
    local info = vim.fn.complete_info({ "pum_visible", "items" })
    for place, item in ipairs(info.items) do
      if info.pum_visible == 1 and item.word == word then
        return place
      end
    end]], word)
end

-- A file whose third line makes the model edit it; rewrite is chosen for its lines.
local function rewrite(world, arguments)
  harness.write(world, "a.txt", "one\ntwo\nCALL edit_file " .. arguments .. "\n")
  local editor = open_prompt(world)
  editor:lua([[
    choose()
    vim.cmd.edit("a.txt")
    vim.lsp.buf_attach_client(0, vim.lsp.get_clients({ name = "agentls" })[1].id)
    function act(title, first, last)
      vim.lsp.buf.code_action({
        range = { start = { first, 0 }, ["end"] = { last, 1000 } },
        filter = function(action) return vim.startswith(action.title, title) end,
        apply = true,
      })
    end
    act("Rewrite", 2, 3)]])
  return editor
end

-- Waits until the answer document tells what became of the call.
local function wait_told(editor, text)
  editor:wait(text, [[
    local text = ...
    return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
      return vim.api.nvim_buf_get_name(buf):find("/answers/") ~= nil
        and table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false)):find(text, 1, true) ~= nil
    end)]], text)
end

return {
  {
    "autotrigger: the item stays at every key",
    modern = true,
    function(world)
      local editor = open_prompt(world)
      autotrigger(editor)
      editor:type("iSee ")
      local typed, word = "", "@test:test://docs/other-page.md"
      for key in word:gmatch(".") do
        editor:type(key)
        typed = typed .. key
        wait_item(editor, "an item at " .. typed, word)
      end
      editor:type("<Esc>ccSee @test:test://docs/ot")
      wait_item(editor, "an item", word)
      editor:type("<C-n><C-y> now")
      editor:wait("the mention", [[return vim.api.nvim_get_current_line() == "See @test:test://docs/other-page.md now"]])
    end,
  },
  {
    "autotrigger: what a title or a later part is searched by stays, too",
    modern = true,
    function(world)
      local editor = open_prompt(world)
      autotrigger(editor)
      for typed, word in pairs({ ["@bill"] = "@test:test://docs/17", ["@test:page.m"] = "@test:test://docs/other-page.md" }) do
        editor:type("<Esc>cc")
        local so_far, place = "", nil
        for key in typed:gmatch(".") do
          editor:type(key)
          so_far = so_far .. key
          place = wait_item(editor, "an item at " .. so_far, word)
        end
        editor:type(("<C-n>"):rep(place))
        editor:type("<C-y>")
        editor:wait("the mention " .. word, [[return vim.api.nvim_get_current_line() == ...]], word)
      end
    end,
  },
  {
    "omnifunc: what would have to be quoted, and what looks like a snippet",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[vim.o.completeopt = "menuone"]])
      for typed, becomes in pairs({
        ["@test:test://docs/a"] = { "@test:test://docs/a$b}.md" },
        ["@test:<test://my"] = { "@test:<test://my docs/read me.md>" },
        ["@test:test://my"] = { "@test:test://my docs/read me.md", "@test:<test://my docs/read me.md>" },
      }) do
        editor:type("<Esc>ccSee " .. typed:gsub("<", "<lt>") .. "<C-x><C-o>")
        editor:wait_popup("the popup after " .. typed)
        editor:type("<C-y>")
        editor:wait("a mention for " .. typed, [[
          local line, all = vim.api.nvim_get_current_line(), ...
          return vim.iter(all):any(function(mention) return line == "See " .. mention end)]], becomes)
      end
    end,
  },
  {
    "a mention completes by omnifunc",
    function(world)
      local editor = open_prompt(world)
      editor:type("iSee @workspace:file://wor<C-x><C-o>")
      editor:wait("the popup", [[return vim.fn.pumvisible() == 1 and #vim.fn.complete_info({ "items" }).items > 0]])
      editor:type("<C-n><C-y>")
      editor:wait("a mention in the text", [[return vim.api.nvim_get_current_line() == "See @workspace:file://world.txt"]])
    end,
  },
  {
    "send writes the answer into the buffer",
    function(world)
      local editor = open_prompt(world)
      editor:type("iSAY stock<Esc>")
      editor:wait("the text", [[return vim.api.nvim_get_mode().mode == "n"]])
      editor:lua([[execute("agentls.send", { uri = vim.uri_from_bufnr(0) })]])
      editor:wait("the answer", [[return last_answer and last_answer.result]])
      local text = vim.trim(table.concat(editor:lines(), "\n"))
      equal(text, "SAY stock\n\n## Agent\n\nstock\n\n## You")
    end,
  },
  {
    "send: what is typed meanwhile stays, and nothing of the answer is lost",
    function(world)
      local editor = open_prompt(world)
      editor:type("iSLOW<Esc>")
      editor:wait("the text", [[return vim.api.nvim_get_mode().mode == "n"]])
      editor:lua([[
        local params = { command = "agentls.send", arguments = { { uri = vim.uri_from_bufnr(0), stream = true } } }
        _, cancel = vim.lsp.buf_request(0, "workspace/executeCommand", params, function() end)]])
      for n = 10, 150, 10 do
        editor:wait("word " .. n, [[return vim.fn.search(("word%d$"):format(...), "nw") > 0]], n)
        editor:type("ggOtyped " .. n .. "<Esc>")
      end
      editor:lua([[cancel()]])
      editor:wait("a new turn", [[return vim.fn.search("^## You$", "nw") > 0]])
      local text = table.concat(editor:lines(), " ")
      for n = 1, 149 do
        check(text:find(("word%d word%d "):format(n, n + 1)), "word %d is missing in\n%s", n, text)
      end
      equal(editor:lines()[1], "typed 150")
      equal(editor:lines()[16], "SLOW")
    end,
  },
  {
    "ask answers the request",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[execute("agentls.ask", "SAY shown")]])
      editor:wait("the answer", [[return last_answer and last_answer.result and last_answer.result.text == "shown"]])
    end,
  },
  {
    "a question comes by showMessageRequest; a number allows, Escape denies",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[execute("agentls.ask", 'CALL echo {"text": "stock"}')]])
      editor:wait_prompt()
      editor:type("2<CR>")
      editor:wait("the answer", [[return last_answer and last_answer.result]])
      equal(#world:received("tools/call"), 1, "calls")
      editor:lua([[last_answer = nil execute("agentls.ask", 'CALL echo {"text": "no"}')]])
      editor:wait_prompt()
      editor:type("<Esc>")
      editor:wait("the answer", [[return last_answer and last_answer.result]])
      equal(#world:received("tools/call"), 1, "calls")
    end,
  },
  {
    "rewrite: a short change is seen in the question, then it is there",
    function(world)
      local editor = rewrite(world, [[{"path":"a.txt","edits":[{"old":"\u0074wo","new":"2"}]}]])
      editor:wait("the question", [[return #questions == 1]])
      check(editor:lua([[return questions[1].prompt]]):find("change a.txt (+1 −1 lines): - two → + 2?", 1, true), "%s", editor:state())
      equal(editor:lines()[2], "two")
      editor:lua([[answer_question("Allow once")]])
      editor:wait("the change", [[return vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == "2"]])
      equal(editor:lines()[1], "one")
      wait_told(editor, "Edited a.txt: +1 −1 lines")
    end,
  },
  {
    "rewrite: a long change is shown beside the question, and the next one in its own window",
    function(world)
      local function lines(n)
        local all = {}
        for i = 1, 9 do
          all[i] = ("new %d.%d"):format(n, i)
        end
        return table.concat(all, "\\n")
      end
      local arguments = ([[{"path":"a.txt","edits":[{"old":"\u0074wo","new":"%s"}]}]]):format(lines(1))
      local editor = rewrite(world, arguments)
      local function shown(text)
        return editor:lua([[
          local text = ...
          return vim.iter(vim.api.nvim_list_wins()):any(function(win)
            local buf = vim.api.nvim_win_get_buf(win)
            return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n"):find(text, 1, true) ~= nil
          end)]], text)
      end
      editor:wait("the question", [[return #questions == 1]])
      check(editor:lua([[return questions[1].prompt]]):find("The change is shown in %S+%.diff"), "%s", editor:state())
      check(shown("-two\n+new 1.1\n+new 1.2\n"), "%s", editor:state())
      check(editor:lua([[return vim.api.nvim_buf_get_name(0)]]):find("a.txt$"), "the focus is elsewhere")
      editor:lua([[answer_question("Deny")]])
      wait_told(editor, "The user rejected this call")
      equal(editor:lines()[2], "two")
      editor:lua([[execute("agentls.ask", ...)]], "CALL edit_file " .. arguments:gsub("new 1", "new 2"))
      editor:wait("the question", [[return #questions == 2]])
      check(shown("-two\n+new 2.1\n"), "%s", editor:state())
      editor:lua([[answer_question("Allow once")]])
      editor:wait("the change", [[return vim.fn.search("^new 2.9$", "nw") == 10]])
    end,
  },
  {
    "rewrite: a change that a rule allows is told, and a code action takes it back",
    function(world)
      world.options.approval = { allow = { "edit_file" } }
      local editor = rewrite(world, [[{"path":"a.txt","edits":[{"old":"\u0074wo","new":"2"}]}]])
      editor:wait("the change", [[return vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == "2"]])
      editor:wait_note("rewrite changed a.txt %(%+1 −1 lines%): %- two → %+ 2")
      editor:lua([[act("Undo the changes of", 1, 1)]])
      editor:wait("the text as it was", [[return vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == "two"]])
      equal(editor:lua([[return #questions]]), 0, "questions")
    end,
  },
  {
    "a wrong argument is an error that says what to do",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[execute("agentls.ask", vim.empty_dict())]])
      local err = editor:wait("the error", [[return last_answer and last_answer.err]])
      equal(err.code, -32602)
      check(err.message:find("prompt buffer", 1, true), "%s", err.message)
    end,
  },
}
