-- What a prompt buffer shows in Neovim's own client, without the plugin: hover, links, colours, folds, its outline.
local harness = require("harness")
local check, equal = harness.check, harness.equal

local text = {
  "## You",
  "See @test:test://docs/world.md, `@test:test://docs/17` and @workspace:file://world.txt.",
  "## Agent",
  "",
  "An answer.",
  "",
  "## You",
  "/mcp list",
}

local function open_prompt(world)
  harness.write(world, "a.agentls.md", table.concat(text, "\n") .. "\n")
  local editor = world:edit({ stock = true })
  editor:lua([[
    vim.cmd.edit("a.agentls.md")
    vim.lsp.start({ name = "agentls", cmd = vim.g.agentls.cmd, root_dir = vim.fn.getcwd(), init_options = vim.g.agentls.options })
    function go_to(word)
      vim.fn.cursor(1, 1)
      vim.fn.search([=[\V]=] .. word)
    end
    function float() -- the text of the window that floats
      for _, win in ipairs(vim.api.nvim_list_wins()) do
        if vim.api.nvim_win_get_config(win).relative ~= "" then
          return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), "\n")
        end
      end
    end]])
  editor:wait_server()
  return editor
end

return {
  {
    "hover: a mention, a command",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[
        go_to("world.md")
        vim.lsp.buf.hover()]])
      local shown = editor:wait("the hover", [[return float()]])
      for _, part in ipairs({ "world.md", "test://docs/world.md", "text/markdown", "sent with the prompt", "Contents of test://docs/world.md" }) do
        check(shown:find(part, 1, true), "no %q in %q", part, shown)
      end
      equal(#world:received("resources/read"), 1, "reads")
      editor:lua([[
        vim.cmd.fclose({ bang = true })
        go_to("/mcp")
        vim.lsp.buf.hover()]])
      shown = editor:wait("the hover of a command", [[return float()]])
      check(shown:find("show the MCP servers", 1, true), "%q", shown)
    end,
  },
  {
    "links: gx opens a file of the project, and a copy of what is elsewhere",
    modern = true,
    function(world)
      local editor = open_prompt(world)
      editor:lua([[
        opened = {}
        vim.ui.open = function(path)
          table.insert(opened, path)
        end]])
      for _, word in ipairs({ "world.txt", "world.md" }) do
        editor:lua([[go_to(...)]], word)
        editor:type("gx")
        editor:wait("a link at " .. word, [[
          local ending = ...
          return vim.iter(opened):any(function(path) return vim.endswith(path, ending) end)]], word:match("%.%w+$"))
      end
      local opened = editor:lua([[return opened]])
      equal(opened[1], world.project .. "/world.txt", "the file")
      check(opened[2]:find("/state/agentls/resources/world%-%x+%.md$"), "the copy is %s", opened[2])
      equal(vim.fn.readfile(opened[2]), { "Contents of test://docs/world.md" }, "the copy")
      -- Another document has no links, and no error over that.
      editor:lua([[
        vim.cmd.edit("world.txt")
        vim.lsp.buf_attach_client(0, vim.lsp.get_clients({ name = "agentls" })[1].id)]])
      editor:type("gg0gx")
      editor:wait("what is under the cursor", [[return opened[3] == "the"]])
      equal(editor:lua([[return vim.v.errmsg]]), "", "an error")
    end,
  },
  {
    "semantic tokens: headings, mentions and commands; nothing in quotes",
    function(world)
      local editor = open_prompt(world)
      editor:wait("the token of a listed resource", [[
        go_to("test://docs/world.md")
        for _, token in ipairs(vim.lsp.semantic_tokens.get_at_pos() or {}) do
          if token.type == "string" then
            return true
          end
        end]])
      equal(
        editor:lua([[
          local found = {}
          for _, word in ipairs({ "## You", "@test:test://docs/world", "test://docs/17", "## Agent", "/mcp" }) do
            go_to(word)
            local token = (vim.lsp.semantic_tokens.get_at_pos() or {})[1]
            table.insert(found, token and token.type or "none")
          end
          return found]]),
        { "keyword", "namespace", "none", "keyword", "function" },
        "tokens"
      )
    end,
  },
  {
    "folding: turns fold to their last words, with a text of their own",
    modern = true,
    function(world)
      local editor = open_prompt(world)
      editor:lua([[
        vim.wo.foldmethod, vim.wo.foldexpr = "expr", "v:lua.vim.lsp.foldexpr()"
        vim.wo.foldtext = "v:lua.vim.lsp.foldtext()"
        vim.wo.foldlevel = 0]])
      editor:wait("folds", [[return vim.fn.foldclosed(3) == 3]])
      equal(
        editor:lua([[
          local folds = {}
          for _, line in ipairs({ 1, 3, 7 }) do
            table.insert(folds, { vim.fn.foldclosed(line), vim.fn.foldclosedend(line), vim.fn.foldtextresult(line) })
          end
          return folds]]),
        {
          { 1, 2, "You: See @test:test://docs/world.md, `@test:test://docs/17` and @…" },
          { 3, 5, "Agent: An answer." },
          { 7, 8, "You: /mcp list" },
        },
        "folds"
      )
    end,
  },
  {
    "symbols: the outline has the turns, answers below their prompts",
    function(world)
      local editor = open_prompt(world)
      editor:lua([[
        vim.lsp.buf.document_symbol({ on_list = function(list)
          outline = vim.iter(list.items):map(function(item) return item.lnum .. " " .. item.text end):totable()
        end })]])
      local outline = editor:wait("the outline", [[return outline]])
      equal(#outline, 3, "turns in " .. vim.inspect(outline))
      for i, part in ipairs({ "^1 .*You: See @test", "^3 .*Agent: An answer%.$", "^7 .*You: /mcp list$" }) do
        check(outline[i]:find(part), "%s, expected %s", outline[i], part)
      end
    end,
  },
}
