-- agentls/diagnostics: what other language servers found, for who asks.
local M = {}

---@param buf integer
---@param encoding string
---@param line integer
---@param col integer byte
---@return lsp.Position
local function position(buf, encoding, line, col)
  local text = encoding ~= "utf-8" and vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_lines(buf, line, line + 1, false)[1]
  if text then
    local utf32, utf16 = vim.str_utfindex(text, math.min(col, #text)) -- the form that 0.10 knows
    col = encoding == "utf-32" and utf32 or utf16
  end
  return { line = line, character = col }
end

---@param d vim.Diagnostic
---@param encoding string
---@return lsp.Diagnostic
local function to_lsp(d, encoding)
  local lsp = type(d.user_data) == "table" and d.user_data.lsp or {}
  return {
    range = {
      start = position(d.bufnr, encoding, d.lnum, d.col),
      ["end"] = position(d.bufnr, encoding, d.end_lnum or d.lnum, d.end_col or d.col),
    },
    severity = d.severity,
    message = d.message,
    source = d.source,
    code = d.code,
    relatedInformation = lsp.relatedInformation,
  }
end

---@param buf integer
---@return string? uri nil for a buffer that is no document
local function uri_of(buf)
  return vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_name(buf) ~= "" and vim.uri_from_bufnr(buf) or nil
end

---@param params {uri?: string}
function M.on_request(_, params, ctx)
  local encoding = vim.lsp.get_client_by_id(ctx.client_id).offset_encoding
  local lists, result = {}, {} ---@type table<integer, lsp.Diagnostic[]>
  for _, d in ipairs(vim.diagnostic.get()) do
    if not lists[d.bufnr] then
      lists[d.bufnr] = {}
      local uri = uri_of(d.bufnr)
      if uri and (not params.uri or params.uri == uri) then
        table.insert(result, { uri = uri, diagnostics = lists[d.bufnr] })
      end
    end
    table.insert(lists[d.bufnr], to_lsp(d, encoding))
  end
  return result
end

---Tells every server which document's diagnostics changed.
---@param notify fun(client: vim.lsp.Client, method: string, params: table)
function M.watch(notify)
  vim.api.nvim_create_autocmd("DiagnosticChanged", {
    group = vim.api.nvim_create_augroup("agentls.diagnostics", {}),
    callback = function(ev)
      local uri = uri_of(ev.buf)
      for _, client in ipairs(uri and vim.lsp.get_clients({ name = "agentls" }) or {}) do
        notify(client, "agentls/didChangeDiagnostics", { uri = uri })
      end
    end,
  })
end

return M
