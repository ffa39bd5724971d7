-- The configuration that vim.lsp.enable("agentls") finds. It loads nothing until it is needed.
-- Extend it with vim.lsp.config("agentls", {…}); leave on_init and on_exit, use LspAttach and LspDetach.

local function lazy(module, name)
  return function(...)
    return require(module)[name](...)
  end
end

return {
  name = "agentls",
  cmd = lazy("agentls.client", "spawn"),
  filetypes = { "agentls" },
  root_dir = function(buf, on_dir)
    on_dir(require("agentls.client").root(buf))
  end,
  capabilities = { experimental = { agentls = { runEvents = true, approvals = true, diagnostics = true, save = true } } },
  flags = { debounce_text_changes = 50 }, -- the server waits for the didChange of each of its edits
  before_init = lazy("agentls.client", "before_init"),
  on_init = lazy("agentls.client", "on_init"),
  on_exit = lazy("agentls.client", "on_exit"),
  commands = { -- of code actions: runs that are shown as those of the plugin's own commands
    ["agentls.ask"] = lazy("agentls.answer", "act"),
    ["agentls.send"] = lazy("agentls.prompt", "act"),
  },
  handlers = {
    ["$/cancelRequest"] = lazy("agentls.approve", "on_cancel"),
    ["agentls/approve"] = lazy("agentls.approve", "on_request"),
    ["agentls/elicit"] = lazy("agentls.approve", "on_request"),
    ["agentls/diagnostics"] = lazy("agentls.diagnostics", "on_request"),
    ["agentls/save"] = lazy("agentls.save", "on_request"),
    ["agentls/runEvent"] = lazy("agentls.run", "on_event"),
    ["workspace/applyEdit"] = lazy("agentls.edit", "on_request"),
    ["window/logMessage"] = lazy("agentls.log", "on_message"),
    ["window/showDocument"] = lazy("agentls.client", "on_show_document"),
  },
}
