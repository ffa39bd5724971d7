-- Edits of files: in buffers and on disk, saved, undone.
local harness = require("harness")
local check, equal = harness.check, harness.equal

local function read(world, name)
  local file = assert(io.open(world.project .. "/" .. name))
  local text = file:read("*a")
  file:close()
  return text
end

local function text(editor, name)
  return editor:lua([[return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false), "\n")]], name)
end

local function replace(path, old, new)
  return vim.json.encode({ path = path, edits = { { old = old, new = new } } }):gsub("\\/", "/")
end

---Asks for an edit and waits until it is made.
local function edit(editor, arguments, says)
  editor:lua([[vim.cmd.Agentls({ "ask", ... })]], "CALL edit_file " .. arguments)
  editor:wait_answer("Tool said: [^\n]*" .. says)
  editor:wait_idle()
end


return {
  {
    "a clean buffer is edited and written, with marks where they were",
    function(world)
      harness.write(world, "a.txt", "one\ntwo\nthree\nfour\n")
      local editor = world:edit({ files = { "a.txt" } })
      editor:type(":edit chat.agentls.md<CR>")
      editor:wait_server()
      editor:lua([[choose("Allow once")]])
      editor:lua([[
        vim.cmd.edit("a.txt")
        vim.api.nvim_buf_set_mark(0, "m", 4, 2, {})
        written = 0
        vim.api.nvim_create_autocmd("BufWritePost", { callback = function() written = written + 1 end })
        vim.wait(5000, function() return #vim.lsp.get_clients({ name = "agentls", bufnr = 0 }) == 1 end)]])
      edit(editor, replace("a.txt", "two", "2\nand"), "Edited a.txt: %+2 −1 lines, from line 2. The editor has it open and saved it.")
      equal(text(editor, "a.txt"), "one\n2\nand\nthree\nfour")
      equal(read(world, "a.txt"), "one\n2\nand\nthree\nfour\n")
      equal(editor:lua([[local b = vim.fn.bufnr("a.txt") return { vim.api.nvim_buf_get_mark(b, "m"), vim.bo[b].modified, written }]]), { { 5, 2 }, false, 1 })
      equal(editor:lua([[return questions[1].prompt]]), "Change a.txt (+2 −1 lines)?")
      editor:lua([[vim.api.nvim_buf_call(vim.fn.bufnr("a.txt"), function() vim.cmd.undo() end)]])
      equal(text(editor, "a.txt"), "one\ntwo\nthree\nfour", "after u")
    end,
  },
  {
    "a buffer with changes is edited and left to be written",
    function(world)
      harness.write(world, "b.txt", "one\ntwo\n")
      local editor = world:edit({ files = { "b.txt" } })
      editor:type("Gounsaved<Esc>:edit chat.agentls.md<CR>")
      editor:lua([[vim.o.hidden = true vim.cmd.edit("chat.agentls.md")]])
      editor:wait_server()
      editor:lua([[choose("Allow once")]])
      edit(editor, replace("b.txt", "unsaved", "edited"), "not saved to disk yet")
      equal(text(editor, "b.txt"), "one\ntwo\nedited")
      equal(read(world, "b.txt"), "one\ntwo\n")
      check(editor:lua([[return vim.bo[vim.fn.bufnr("b.txt")].modified]]), "not modified")
    end,
  },
  {
    "a file that is not open is edited on disk; undo takes back what was done, here and there",
    function(world)
      harness.write(world, "c.txt", "one\ntwo\n")
      harness.write(world, "a.txt", "one\ntwo\n")
      local editor = world:edit({ files = { "a.txt" } })
      editor:lua([[vim.cmd.edit("chat.agentls.md")]])
      editor:wait_server()
      editor:lua([[choose("Allow once")]])
      edit(editor, replace("c.txt", "two", "2"), "Edited c.txt: %+1 −1 lines, from line 2%.$")
      equal(read(world, "c.txt"), "one\n2\n")
      editor:type(":Agentls undo<CR>")
      editor:wait_note("restored c.txt")
      equal(read(world, "c.txt"), "one\ntwo\n")
      edit(editor, replace("a.txt", "two", "2"), "saved it")
      editor:type(":Agentls undo<CR>")
      editor:wait_note("restored a.txt")
      equal(text(editor, "a.txt"), "one\ntwo")
      equal(read(world, "a.txt"), "one\ntwo\n")
      edit(editor, replace("a.txt", "two", "2"), "saved it")
      editor:lua([[vim.api.nvim_buf_set_lines(vim.fn.bufnr("a.txt"), 0, 0, false, { "mine" })]])
      editor:type(":Agentls undo<CR>")
      editor:wait_note("left a.txt: something else changed it since")
      equal(text(editor, "a.txt"), "mine\none\n2")
      editor:type(":Agentls undo nosuch<CR>")
      editor:wait_note("no run \"nosuch\"")
    end,
  },
  {
    "a buffer without a last newline, with CRLF, and one that cannot be written",
    function(world)
      harness.write(world, "dos.txt", "one\r\ntwo\r\n")
      harness.write(world, "noeol.txt", "one\ntwo")
      harness.write(world, "fixed.txt", "one\ntwo\n")
      local editor = world:edit({ files = { "dos.txt", "noeol.txt", "fixed.txt" } })
      editor:lua([[vim.o.hidden = true vim.cmd("edit noeol.txt | edit fixed.txt | setlocal readonly | edit dos.txt | edit chat.agentls.md")]])
      editor:wait_server()
      editor:lua([[choose("Allow once")]])
      edit(editor, replace("dos.txt", "one\ntwo", "1\n2\n3"), "saved it")
      equal(read(world, "dos.txt"), "1\r\n2\r\n3\r\n")
      edit(editor, replace("noeol.txt", "two", "2"), "Edited")
      equal(text(editor, "noeol.txt"), "one\n2")
      edit(editor, replace("fixed.txt", "two", "2"), "not saved to disk yet")
      equal(read(world, "fixed.txt"), "one\ntwo\n")
    end,
  },
  {
    "the question about an edit shows a diff",
    function(world)
      harness.write(world, "a.txt", "one\ntwo\n")
      local editor = world:edit_prompt()
      editor:lua([[choose()]])
      editor:lua([[vim.cmd.Agentls({ "ask", ... })]], "CALL edit_file " .. replace("a.txt", "two", "2"))
      editor:wait("the question", [[return #questions == 1]])
      check(editor:lua([[
        return vim.iter(vim.api.nvim_list_wins()):any(function(win)
          local buf = vim.api.nvim_win_get_buf(win)
          local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
          return text:find("\n-two\n+2", 1, true) ~= nil and vim.bo[buf].syntax == "diff"
        end)]]), "no window with the diff")
      editor:lua([[answer_question("Deny")]])
      editor:wait_idle()
      equal(read(world, "a.txt"), "one\ntwo\n")
    end,
  },
  {
    "the server knows the open files of its project, and no others",
    function(world)
      harness.write(world, "before.lua", "return 1\n")
      harness.write(world, "after.lua", "return 2\n")
      harness.write(world, "../elsewhere.lua", "return 3\n")
      local editor = world:edit({ files = { "before.lua" } })
      editor:lua([[vim.cmd("filetype on | edit! before.lua | edit ../elsewhere.lua | edit chat.agentls.md")]])
      editor:wait_server()
      local function attached(name)
        return editor:lua([[return #vim.lsp.get_clients({ name = "agentls", bufnr = vim.fn.bufnr(...) }) == 1]], name)
      end
      editor:lua([[vim.cmd.edit("after.lua")]])
      editor:wait("what was opened later", [[return #vim.lsp.get_clients({ name = "agentls", bufnr = vim.fn.bufnr("after.lua") }) == 1]])
      editor:lua([[vim.bo[vim.fn.bufnr("after.lua")].filetype = "text"]])
      editor:wait("another file type", [[return #vim.lsp.get_clients({ name = "agentls", bufnr = vim.fn.bufnr("after.lua") }) == 1]])
      check(attached("before.lua"), "what was open before is not attached")
      check(not attached("elsewhere.lua"), "another project's file is attached")
    end,
  },
  {
    "what other language servers say of an edit reaches the model",
    function(world)
      harness.write(world, "a.txt", "one\ntwo\n")
      local editor = world:edit({ files = { "a.txt" } })
      editor:lua([[vim.cmd.edit("chat.agentls.md")]])
      editor:wait_server()
      editor:lua([[choose("Allow once")]])
      editor:lua([[
        local buf, space = vim.fn.bufnr("a.txt"), vim.api.nvim_create_namespace("other")
        local function find()
          local line = vim.api.nvim_buf_get_lines(buf, 1, 2, false)[1]
          vim.diagnostic.set(space, buf, { { lnum = 1, col = 0, severity = 1, message = "no number: " .. line, source = "lint" } })
        end
        find()
        vim.api.nvim_buf_attach(buf, false, { on_lines = vim.schedule_wrap(find) })]])
      edit(editor, replace("a.txt", "two", "zwei"), "Edited a.txt")
      local requests = world:requests()
      local said = vim.inspect(requests[#requests].messages)
      check(said:find("2:1: error: no number: zwei [lint]", 1, true), "the diagnostics are not in %s", said:sub(-1500))
      check(not said:find("no number: two", 1, true), "old diagnostics are told")
    end,
  },
}
