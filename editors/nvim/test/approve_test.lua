-- Questions: tools and trust.
local harness = require("harness")
local check, equal = harness.check, harness.equal

return {
  {
    "a tool runs when it is allowed",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose("Allow once")]])
      editor:type([[:Agentls ask CALL echo {"text": "good day"}<CR>]])
      equal(
        editor:wait_answer("Tool said: .*echo good day"):gsub("Tool said: .*", ""),
        '## You\n\nCALL echo {"text": "good day"}\n\n## Agent\n\nCalling echo.\n\n'
      )
      equal(#world:received("tools/call"), 1, "calls")
      local question = editor:lua([[return questions[1] ]])
      equal(question.titles, {
        "Deny",
        "Allow once",
        "Allow for this session: test/echo as it is defined now, in this folder",
        "Always allow: test/echo as it is defined now, in this folder",
      })
      equal(question.prompt, [[Run test/echo {"text":"good day"}?]])
    end,
  },
  {
    "a plan is shown with its steps, and runs when it is accepted",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose("Run plan")]])
      local steps = [[{"steps": [{"id": "a", "title": "Look", "task": "look around", "dependsOn": []}]}]]
      editor:type(":Agentls ask /plan CALL submit_plan " .. steps .. "<CR>")
      editor:wait_answer("completed: 1%. Look.*")
      local question = editor:lua([[return questions[1] ]])
      equal(question.titles, { "Stop", "Run plan", "Another plan…" })
      equal(question.prompt, "Run this plan of 1 step?")
    end,
  },
  {
    "the question about a call of a step says which step it is",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose_each({ "Run plan", "Deny" })]])
      local steps =
        [[{"steps": [{"id": "a", "title": "Look", "task": "CALL run_command {\"command\": \"true\"}", "dependsOn": []}]}]]
      editor:type(":Agentls ask /plan CALL submit_plan " .. steps .. "<CR>")
      editor:wait("both questions", [[return #questions == 2]])
      equal(editor:lua([[return questions[2].prompt]]), [[step 1: Run run_command {"command":"true"}?]])
      editor:wait_idle()
    end,
  },
  {
    "another plan is asked for with what should be different",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose("Another plan…")
        vim.ui.input = function(_, on_confirm) on_confirm("no looking") end]])
      local steps = [[{"steps": [{"id": "a", "title": "Look", "task": "look around", "dependsOn": []}]}]]
      editor:type(":Agentls ask /plan CALL submit_plan " .. steps .. "<CR>")
      editor:wait_answer("Tool said: The user wants another plan: no looking.*")
    end,
  },
  {
    "what nothing is remembered of is only allowed once",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose("Allow once")]])
      editor:type([[:Agentls ask CALL run_command {"command": "echo a | cat"}<CR>]])
      editor:wait("the question", [[return #questions == 1]])
      equal(editor:lua([[return questions[1].titles]]), { "Deny", "Allow once" })
      editor:wait_idle()
    end,
  },
  {
    "Neovim's own select: a number allows, Escape denies",
    function(world)
      local editor = world:edit_prompt()
      editor:type([[:Agentls ask CALL echo {"text": "by number"}<CR>]])
      editor:wait_prompt()
      editor:type("2<CR>")
      editor:wait_answer("Tool said: .*echo by number")
      editor:type([[:Agentls ask CALL echo {"text": "escaped"}<CR>]])
      editor:wait_prompt()
      editor:type("<Esc>")
      editor:wait_idle()
      equal(#world:received("tools/call"), 1, "calls")
    end,
  },
  {
    "a tool does not run when it is denied or the question is dismissed",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose("Deny")]])
      editor:type([[:Agentls ask CALL echo {"text": "one"}<CR>]])
      editor:wait_answer("## Agent\n\n%S")
      editor:wait_idle()
      editor:lua([[choose("")]])
      editor:type([[:Agentls ask CALL echo {"text": "two"}<CR>]])
      editor:wait("the second question", [[return #questions == 2]])
      editor:wait_idle()
      equal(#world:received("tools/call"), 0, "calls")
    end,
  },
  {
    "a question waits until typing has ended, and shows all of long arguments",
    function(world)
      local editor = world:edit_prompt()
      editor:type([[:Agentls ask CALL echo {"text": "]] .. ("long "):rep(40) .. [[end"}<CR>itext]])
      editor:wait_note("a question waits for you")
      equal(editor:lua([[return vim.api.nvim_get_mode().mode:sub(1, 1)]]), "i") -- "ic" with a popup
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
      editor:wait_answer("Tool said: .*end")
      equal(editor:lua([[return #vim.api.nvim_list_wins()]]), 2, "windows")
    end,
  },
  {
    "questions come one at a time",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose()]])
      editor:type([[:Agentls ask CALL echo {"text": "one"}<CR>]])
      editor:type([[:Agentls ask CALL echo {"text": "two"}<CR>]])
      editor:wait("two waiting runs", [[
        return vim.iter(require("agentls.run").list()):all(function(run) return run.status == "waiting" end)]])
      equal(editor:lua([[return #questions]]), 1, "questions")
      editor:lua([[answer_question("Deny")]])
      editor:wait("the second", [[return #questions == 2]])
      editor:lua([[answer_question("Allow once")]])
      editor:wait_idle()
      equal(#world:received("tools/call"), 1, "calls")
    end,
  },
  {
    "a cancel closes the question; a late yes allows nothing",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose()]])
      editor:type([[:Agentls ask CALL echo {"text": "no"}<CR>]])
      editor:wait("the question", [[return #questions == 1]])
      editor:type(":Agentls cancel<CR>")
      editor:wait_idle()
      editor:lua([[answer_question("Allow once")]])
      editor:wait_note("the question was closed")
      editor:lua([[choose("Deny")]])
      editor:type([[:Agentls ask SAY next<CR>]])
      editor:wait_answer("## Agent\n\nnext$")
      equal(#world:received("tools/call"), 0, "calls")
    end,
  },
  {
    "Neovim's own select is closed when its run ends",
    modern = true,
    function(world)
      local editor = world:edit_prompt()
      editor:type([[:Agentls ask CALL echo {"text": "no"}<CR>]])
      editor:wait_prompt()
      editor:lua([[require("agentls").cancel()]])
      editor:wait("the end of the prompt", [[return vim.api.nvim_get_mode().mode == "n"]])
      editor:wait_idle()
      equal(#world:received("tools/call"), 0, "calls")
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
    "the inputs of a server are asked for: one of several, a text, a password",
    function(world)
      local server = world.options.mcpServers.test
      world.options.mcpServers = nil
      server.env = { STAGE = "${input:stage}", TEAM = "${input:team}", ZKEY = "${input:zkey}" }
      harness.write(
        world,
        ".vscode/mcp.json",
        vim.json.encode({
          inputs = {
            { id = "stage", type = "pickString", description = "Which stage?", options = { "dev", "prod" } },
            { id = "team", type = "promptString", description = "Which team?", default = "blue" },
            { id = "zkey", type = "promptString", description = "The key", password = true },
          },
          servers = { test = server },
        })
      )
      local editor = world:edit({ files = { "a.agentls.md" } })
      editor:lua([[choose()]])
      editor:wait("the question of trust", [[return #questions == 1]])
      equal(#world:received("initialize"), 0, "starts before the answer")
      editor:lua([[answer_question("Trust and start")]])
      editor:wait("the question for the stage", [[return #questions == 2]])
      local question = editor:lua([[return questions[2] ]])
      equal(question.titles, { "dev", "prod" })
      check(question.prompt:find("test: Which stage?", 1, true), "prompt: %s", question.prompt)
      editor:lua([[answer_question("prod")]])
      editor:wait_prompt()
      editor:type("green<CR>") -- after the default
      editor:wait_file(world.dir .. "/state/agentls/inputs.json", '"bluegreen"')
      editor:wait_prompt()
      editor:type("secret-of-the-key<CR>")
      editor:wait_server()
      local state = editor:wait_file(world.dir .. "/state/agentls/inputs.json", '"prod"')
      check(not state:find("secret-of-the-key", 1, true), "a password is on the disk: %s", state)
    end,
  },
  {
    "an input that is dismissed is not given",
    function(world)
      local server = world.options.mcpServers.test
      world.options.mcpServers = nil
      server.env = { TEAM = "${input:team}" }
      local file = { inputs = { { id = "team", type = "promptString" } }, servers = { test = server } }
      harness.write(world, ".vscode/mcp.json", vim.json.encode(file))
      local editor = world:edit({ files = { "a.agentls.md" } })
      editor:lua([[choose("Trust and start")]])
      editor:wait_prompt()
      editor:type("<Esc>")
      editor:wait_note('the input "team" was not given')
      equal(#world:received("initialize"), 0, "starts without the answer")
    end,
  },
  {
    "a server that is added to a file is there without a restart; one that a run adds waits for a person",
    function(world)
      local server = world.options.mcpServers.test
      world.options.mcpServers = nil
      local editor = world:edit({ files = { "a.agentls.md", ".mcp.json" } })
      editor:lua([[choose("Trust and start")]])
      editor:wait("the client", [[return #vim.lsp.get_clients({ name = "agentls" }) == 1]])
      editor:lua(
        [[
        vim.cmd("edit .mcp.json")
        vim.api.nvim_buf_set_lines(0, 0, -1, false, { ... })
        vim.cmd("write | buffer a.agentls.md")]],
        vim.json.encode({ mcpServers = { test = server } })
      )
      editor:wait_server()
      editor:lua([[choose()]])
      editor:type([[:Agentls ask CALL echo {"text": "good day"}<CR>]])
      editor:wait("the question about the tool", [[return #questions == 2]])
      harness.write(world, ".mcp.json", "{}")
      editor:lua([[answer_question("Deny")]])
      editor:wait("the question about the change", [[return #questions == 3]])
      local question = editor:lua([[return questions[3] ]])
      equal(question.titles, { "Not now", "Apply" })
      equal(question.prompt, "Apply the configuration that changed during a run?")
      editor:lua([[answer_question("Not now")]])
      editor:wait_server()
    end,
  },
}
