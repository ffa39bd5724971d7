-- The editor under test: this plugin and nothing else. AGENTLS_TEST_STOCK=1 leaves the plugin out.
local root = vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2)))
vim.opt.swapfile = false
vim.opt.shadafile = "NONE"
if vim.fn.exists("+messagesopt") == 1 then
  vim.o.messagesopt = "wait:0,history:500" -- no waiting for a key after a long message
end
if not vim.env.AGENTLS_TEST_STOCK then
  vim.opt.runtimepath:prepend(root)
end
if vim.env.AGENTLS_TEST_OPTIONS then
  vim.g.agentls = vim.json.decode(vim.env.AGENTLS_TEST_OPTIONS)
end

-- What was notified. Shown on a real screen only: a message of several lines would wait for a key.
notes = {}
local notify = vim.notify
vim.notify = function(message, level, options)
  table.insert(notes, message)
  if vim.env.AGENTLS_TEST_SCREEN then
    notify(message, level, options)
  end
end

questions = {} -- what vim.ui.select was asked, while choose is set
function choose(title) -- a title; "" dismisses; nil: leave it open
  vim.ui.select = function(items, options, on_choice)
    local titles = vim.tbl_map(options.format_item or tostring, items)
    table.insert(questions, { prompt = options.prompt, titles = titles })
    answer_question = function(wanted)
      on_choice(vim.iter(items):find(function(item)
        return (options.format_item or tostring)(item) == wanted
      end))
    end
    if title then
      answer_question(title)
    end
  end
end

function choose_each(titles) -- one title for each question, in their order; then they are left open
  local function next_title()
    choose(table.remove(titles, 1))
    local select = vim.ui.select
    vim.ui.select = function(...)
      next_title()
      select(...)
    end
  end
  next_title()
end

inputs = {} -- what vim.ui.input was asked, while type_each is set
function type_each(values) -- a text for each, in their order; vim.NIL dismisses
  vim.ui.input = function(options, on_confirm)
    table.insert(inputs, { prompt = options.prompt, default = options.default })
    local value = table.remove(values, 1)
    on_confirm(value ~= vim.NIL and value or nil)
  end
end

function server_ready() -- the tools and resources of the MCP servers are there
  if #vim.lsp.get_clients({ name = "agentls", bufnr = 0 }) == 0 then
    return false
  end
  local params = { command = "agentls.mcp.servers", arguments = { vim.empty_dict() } }
  local answers = vim.lsp.buf_request_sync(0, "workspace/executeCommand", params, 2000) or {}
  local _, answer = next(answers)
  return answer and answer.result and #answer.result == 2 and vim.iter(answer.result):all(function(server)
    return server.status == "ready" and type(server.resources) == "number" and server.resources > 0
  end)
end
