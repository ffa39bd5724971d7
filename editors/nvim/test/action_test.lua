-- Code actions, by vim.lsp.buf.code_action: with the plugin, and as a user of a stock client has them.
local harness = require("harness")
local check, equal = harness.check, harness.equal

-- act(wanted, range): opens the menu and takes the item that begins with wanted; other questions stay open.
local helpers = [[
  menu = {}
  function act(wanted, range)
    menu = {}
    vim.ui.select = function(items, options, on_choice)
      if options.kind ~= "codeaction" then
        return
      end
      local titles = vim.tbl_map(options.format_item, items)
      menu = titles
      for i, title in ipairs(titles) do
        if vim.startswith(title, wanted) then
          return on_choice(items[i], i)
        end
      end
      on_choice(nil)
    end
    vim.lsp.buf.code_action({ range = range })
  end
  selection = { start = { 1, 0 }, ["end"] = { 2, 5 } }
  function shown(pattern) -- the windows whose text has the pattern
    return vim.iter(vim.api.nvim_list_wins()):map(function(win)
      local buf = vim.api.nvim_win_get_buf(win)
      local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
      return text:find(pattern) and { name = vim.api.nvim_buf_get_name(buf), text = text } or nil
    end):totable()
  end]]

---An editor with a file, and a client with the plugin's settings or none.
local function open_file(world, stock)
  local editor = world:edit({ stock = stock, files = { "world.txt" } })
  editor:lua(helpers)
  editor:lua(stock and [[
    vim.lsp.start({ name = "agentls", cmd = vim.g.agentls.cmd, root_dir = vim.fn.getcwd(), init_options = vim.g.agentls.options })
  ]] or [[require("agentls.client").with(0, function() end)]])
  editor:wait_server()
  return editor
end

local menu_of_selection = { "Fix problems in selection", "Rewrite", "Explain", "Write tests", "Document", "Ask about this…" }

return {
  {
    "stock: an action on a selection opens its answer in a document, and the cursor stays",
    function(world)
      local editor = open_file(world, true)
      editor:lua([[act("Explain", selection)]])
      local windows = editor:wait("the answer", [[local list = shown("## Agent\n\nHello") return #list > 0 and list]])
      equal(editor:lua([[return menu]]), menu_of_selection, "the menu")
      check(windows[1].name:find("/state/agentls/answers/%x+%.agentls%.md$"), "the answer is in %s", windows[1].name)
      equal(windows[1].text, "## You\n\nexplain world.txt:1-2\n\n## Agent\n\nHello from the agent.\n\n## You")
      equal(editor:lua([[return vim.fn.expand("%:t")]]), "world.txt", "the window with the cursor")
      check(vim.json.encode(world:requests()[1]):find("the first line\\nthe se\\n", 1, true), "the selection is not in the request")
    end,
  },
  {
    "stock: a diagnostic that is given to the menu can be fixed, however odd it is",
    function(world)
      local editor = open_file(world, true)
      editor:lua([[
        vim.lsp.buf.code_action({ apply = true, filter = function(a) return a.title == "Fix: odd word" end, context = { diagnostics = {
          { range = { start = { line = 0, character = 4 }, ["end"] = { line = 0, character = 9 } }, message = "odd word", code = 1.5 },
        } } })]])
      editor:wait("the answer", [[return #shown("## Agent\n\nHello") > 0]])
      check(vim.json.encode(world:requests()[1]):find("1:5: error: odd word [1.5]", 1, true), "the diagnostic is not in the request")
    end,
  },
  {
    "stock: what waits is allowed, denied and cancelled by actions",
    function(world)
      local editor = open_file(world, true)
      local function ask(text)
        editor:lua([[
          answer = nil
          vim.ui.select = function() end
          vim.lsp.buf_request(0, "workspace/executeCommand", { command = "agentls.ask", arguments = { ... } }, function(err, result)
            answer = { err = err, result = result }
          end)]], text)
        editor:wait("a question", [[
          local params = { command = "agentls.approvals", arguments = { vim.empty_dict() } }
          local _, answer = next(vim.lsp.buf_request_sync(0, "workspace/executeCommand", params, 2000) or {})
          return answer and #answer.result == 1]])
      end
      ask('CALL echo {"text": "yes"}')
      editor:lua([[act("Allow once: test echo")]])
      editor:wait("the answer", [[return answer and answer.result.text:find("Tool said: .*yes")]])
      equal(#world:received("tools/call"), 1, "calls")
      local menu = editor:lua([[return menu]])
      equal({ menu[1], menu[2], menu[3] }, {
        'Cancel run: CALL echo {"text": "yes"}', 'Deny: test echo {"text":"yes"}', 'Allow once: test echo {"text":"yes"}',
      }, "the menu")
      ask('CALL echo {"text": "no"}')
      editor:lua([[act("Deny: test echo")]])
      editor:wait("the answer", [[return answer and answer.result]])
      ask('CALL echo {"text": "never"}')
      editor:lua([[act("Cancel run: CALL")]])
      editor:wait("nothing that runs", [[
        local params = { command = "agentls.runs", arguments = { vim.empty_dict() } }
        local _, answer = next(vim.lsp.buf_request_sync(0, "workspace/executeCommand", params, 2000) or {})
        return answer and answer.result[#answer.result].status == "cancelled"]])
      equal(#world:received("tools/call"), 1, "calls")
    end,
  },
  {
    "stock: ask about this opens a prompt buffer with the selection and the cursor behind it",
    function(world)
      local editor = open_file(world, true)
      editor:lua([[act("Ask about this", selection)]])
      editor:wait("the prompt buffer", [[return vim.fn.expand("%"):find("/prompts/.*%.agentls%.md$")]])
      equal(editor:lines(), {
        "## You", "", "About `world.txt`, lines 1-2:", "", "```text", "the first line", "the se", "```", "", "",
      }, "the buffer")
      equal(editor:lua([[return vim.api.nvim_win_get_cursor(0)]]), { 10, 0 }, "the cursor")
    end,
  },
  {
    "an action's answer opens as that of ask",
    function(world)
      local editor = open_file(world)
      editor:lua([[act("Explain", selection)]])
      local text = editor:wait_answer("Hello from the agent%.$")
      equal(text, "## You\n\nExplain\n\n## Agent\n\nHello from the agent.")
      equal(editor:lua([[return menu]]), menu_of_selection, "the menu")
      equal(editor:lua([[return { vim.fn.expand("%:t"), #vim.api.nvim_list_wins() }]]), { "world.txt", 2 })
      editor:wait_idle()
    end,
  },
  {
    "another source's diagnostic can be fixed: Neovim does not send it with the request, the plugin tells it",
    function(world)
      local editor = open_file(world)
      editor:lua([[
        vim.diagnostic.set(vim.api.nvim_create_namespace("spell"), 0, {
          { lnum = 0, col = 4, end_lnum = 0, end_col = 9, message = "odd word", severity = vim.diagnostic.severity.WARN, source = "spell" },
        })]])
      editor:wait("the action", [[act("Fix: odd word") return vim.wait(500, function() return #menu > 0 end) and menu[1] == "Fix: odd word"]])
      editor:wait_answer("## You\n\nFix: odd word\n\n## Agent\n\nHello from the agent%.$")
      check(vim.json.encode(world:requests()[1]):find("1:5: warning: odd word [spell]", 1, true), "the diagnostic is not in the request")
    end,
  },
  {
    "a question about a selection is asked in a prompt buffer and sent by an action",
    function(world)
      local editor = open_file(world)
      editor:lua([[act("Ask about this", selection)]])
      editor:wait("the prompt buffer", [[return vim.bo.filetype == "agentls" and #vim.lsp.get_clients({ bufnr = 0 }) == 1]])
      editor:type("iSAY sent<Esc>")
      editor:wait("the text", [[return vim.api.nvim_get_mode().mode == "n"]])
      editor:lua([[act("Send")]])
      editor:wait("the answer", [[return vim.fn.search("^## You$", "nw") > 1 and vim.fn.search("^sent$", "nw") > 0]])
      editor:wait_idle()
      check(vim.json.encode(world:requests()[1]):find("the first line", 1, true), "the selection is not in the request")
    end,
  },
}
