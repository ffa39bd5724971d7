// A small editor on vscode-languageserver-protocol: the client library that
// VS Code is made of. It starts the built binary, keeps documents as editors
// do, answers the server, and writes all that goes over the wire into a trace,
// which is held against the protocol's meta model afterwards.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import lsp from 'vscode-languageserver-protocol/node'
import * as types from 'vscode-languageserver-types'

export { lsp, types }

const DEADLINE = 20_000

/** setup is what the test that started us gives: paths, addresses, the configuration of fake MCP servers. */
export const setup = JSON.parse(process.env.AGENTLS_SETUP ?? 'null')
assert.ok(setup, 'AGENTLS_SETUP is missing: run `go test -run TestProtocolClient ./cmd/agentls`')

let worlds = 0

/** Editor is one client with its server, on a folder and a state of its own. */
export class Editor extends EventEmitter {
  documents = new Map() // uri → TextDocument
  notifications = [] // {method, params}, in order
  requests = [] // {method, params, result}
  diagnostics = new Map() // uri → the last that was published
  progress = new Map() // token → values
  answers = new Map() // method → func(params), in the place of what stock() does
  settings = null // section agentls

  /** @param {{name?: string, features?: string[], capabilities?: object, options?: object, files?: object, dir?: string, trusted?: boolean, folders?: string[]}} o */
  static async start(o = {}) {
    const e = new Editor()
    await e.#start(o)
    return e
  }

  async #start(o) {
    this.dir = o.dir ?? path.join(setup.dir, `world${++worlds}`)
    this.root = path.join(this.dir, 'ws')
    fs.mkdirSync(this.root, { recursive: true })
    for (const [name, text] of Object.entries({ 'README.md': '# Hello\n', ...o.files })) {
      fs.mkdirSync(path.dirname(path.join(this.root, name)), { recursive: true })
      fs.writeFileSync(path.join(this.root, name), text)
    }
    const env = { ...process.env, HOME: this.dir, ...(o.offline ? {} : setup.provider) }
    delete env.AGENTLS_SETUP
    for (const name of ['CONFIG', 'STATE', 'CACHE', 'DATA']) env[`XDG_${name}_HOME`] = path.join(this.dir, name.toLowerCase())
    this.server = spawn(setup.binary, ['--stdio'], { cwd: this.root, env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.stderr = ''
    this.server.stderr.on('data', d => { this.stderr += d })
    this.exited = once(this.server, 'exit')
    this.trace = fs.openSync(path.join(setup.traces, `${process.pid}-${++worlds}.jsonl`), 'w')

    const reader = new lsp.StreamMessageReader(this.server.stdout)
    const writer = new lsp.StreamMessageWriter(this.server.stdin)
    const listen = reader.listen.bind(reader)
    reader.listen = callback => listen(m => { this.#wrote('server', m); callback(m) })
    const write = writer.write.bind(writer)
    writer.write = m => { this.#wrote('client', m); return write(m) }
    this.connection = lsp.createProtocolConnection(reader, writer, { error: m => this.#failed(m), warn: m => this.#failed(m), info() {}, log() {} })
    this.connection.onError(([error]) => this.#failed(String(error)))
    this.#serve()
    this.connection.listen()

    this.initializeResult = await this.request(lsp.InitializeRequest.type, {
      processId: process.pid,
      clientInfo: o.name === null ? undefined : { name: o.name ?? 'protocol client', version: '1' },
      rootUri: uriOf(this.root),
      workspaceFolders: (o.folders ?? [this.root]).map(f => ({ uri: uriOf(f), name: path.basename(f) })),
      initializationOptions: { workspaceTrusted: o.trusted ?? true, mcpServers: setup.servers, approval: { default: 'ask', allow: ['fake/*'] }, ...o.options },
      capabilities: merge(capabilities(o.features ?? []), o.capabilities ?? {}),
    })
    await this.notify(lsp.InitializedNotification.type, {})
  }

  #wrote(from, message) { fs.writeSync(this.trace, JSON.stringify({ from, message }) + '\n') }

  /** #failed is what the library says of messages that it cannot take. */
  #failed(what) {
    if (this.leaving && /EPIPE|ERR_STREAM_DESTROYED/.test(what)) return // our answer came behind exit
    (this.faults ??= []).push(what)
  }

  #serve() {
    const c = this.connection
    c.onNotification((method, params) => this.#notified(method, params))
    for (const type of [lsp.ShowMessageNotification.type, lsp.LogMessageNotification.type, lsp.LogTraceNotification.type, lsp.TelemetryEventNotification.type]) {
      c.onNotification(type, params => this.#notified(type.method, params))
    }
    c.onNotification(lsp.PublishDiagnosticsNotification.type, params => {
      this.diagnostics.set(params.uri, params.diagnostics)
      for (const d of params.diagnostics) {
        assert.ok(types.Diagnostic.is(d), `no diagnostic: ${JSON.stringify(d)}`)
        this.within(params.uri, d.range)
      }
      this.#notified('textDocument/publishDiagnostics', params)
    })
    // The library hands $/progress to who listens on the token alone.
    c.onUnhandledProgress(params => {
      const list = this.progress.get(params.token) ?? []
      this.progress.set(params.token, [...list, params.value])
      this.#notified('$/progress', params)
    })
    for (const type of [lsp.ConfigurationRequest.type, lsp.WorkDoneProgressCreateRequest.type, lsp.ShowMessageRequest.type, lsp.ShowDocumentRequest.type,
      lsp.ApplyWorkspaceEditRequest.type, lsp.RegistrationRequest.type, lsp.UnregistrationRequest.type, lsp.CodeLensRefreshRequest.type,
      lsp.SemanticTokensRefreshRequest.type, lsp.WorkspaceFoldersRequest.type]) {
      c.onRequest(type, (params, token) => this.#answer(type.method, params, token))
    }
    for (const method of ['agentls/approve', 'agentls/elicit', 'agentls/diagnostics', 'agentls/save']) c.onRequest(method, (params, token) => this.#answer(method, params, token))
  }

  #notified(method, params) {
    this.notifications.push({ method, params })
    this.emit('message')
  }

  async #answer(method, params, token) {
    const record = { method, params, cancelled: false }
    this.requests.push(record)
    token?.onCancellationRequested(() => { record.cancelled = true; this.emit('message') })
    this.emit('message')
    const answer = this.answers.get(method)
    record.result = await (answer ? answer(params, record) : this.stock(method, params))
    this.emit('message')
    return record.result
  }

  /** stock is what an editor answers whose user does nothing. */
  async stock(method, params) {
    switch (method) {
      case 'workspace/configuration':
        return params.items.map(item => item.section === 'agentls' ? this.settings : null)
      case 'window/showDocument':
        return { success: true }
      case 'workspace/applyEdit':
        return this.applyEdit(params.edit)
    }
    return null
  }

  /** applyEdit changes documents as an editor does: all of the edit or nothing, then didChange, then the answer. */
  async applyEdit(edit) {
    assert.ok(types.WorkspaceEdit.is(edit), `no edit: ${JSON.stringify(edit)}`)
    const changes = edit.documentChanges?.map(c => [c.textDocument.uri, c.edits, c.textDocument.version]) ?? Object.entries(edit.changes ?? {}).map(([uri, edits]) => [uri, edits, null])
    for (const [uri, edits, version] of changes) {
      const doc = this.documents.get(uri)
      if (!doc) return { applied: false, failureReason: `${uri} is not open` }
      if (version !== null && version !== doc.version) return { applied: false, failureReason: 'the document has changed' }
      for (const e of edits) this.within(uri, e.range)
    }
    for (const [uri, edits] of changes) {
      await this.change(uri, types.TextDocument.applyEdits(this.documents.get(uri), edits))
    }
    return { applied: true }
  }

  uri(name) { return uriOf(path.join(this.root, name)) }

  async open(name, text, languageId = name.endsWith('.md') ? 'markdown' : 'go') {
    const uri = name.includes(':') ? name : this.uri(name)
    this.documents.set(uri, types.TextDocument.create(uri, languageId, 1, text))
    await this.notify(lsp.DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId, version: 1, text } })
    return uri
  }

  /** change replaces a document's text, by one range. */
  async change(uri, text) {
    const old = this.documents.get(uri)
    const version = old.version + 1
    const was = old.getText()
    let from = 0
    while (from < Math.min(was.length, text.length) && was[from] === text[from]) from++
    const range = { start: old.positionAt(from), end: old.positionAt(was.length) }
    this.documents.set(uri, types.TextDocument.create(uri, old.languageId, version, text))
    await this.notify(lsp.DidChangeTextDocumentNotification.type, { textDocument: { uri, version }, contentChanges: [{ range, text: text.slice(old.offsetAt(range.start)) }] })
  }

  async close(uri) {
    this.documents.delete(uri)
    await this.notify(lsp.DidCloseTextDocumentNotification.type, { textDocument: { uri } })
  }

  text(uri) { return this.documents.get(uri).getText() }

  /** within asserts that a range is one of the document, as it is open. */
  within(uri, range) {
    assert.ok(types.Range.is(range), `no range: ${JSON.stringify(range)}`)
    const doc = this.documents.get(uri)
    if (!doc) return
    for (const p of [range.start, range.end]) {
      assert.deepEqual(doc.positionAt(doc.offsetAt(p)), p, `${JSON.stringify(p)} is outside of ${uri}`)
    }
    assert.ok(doc.offsetAt(range.start) <= doc.offsetAt(range.end), `${JSON.stringify(range)} ends before it starts`)
  }

  request(type, params, token) { return deadline(this.connection.sendRequest(type, params, token), type.method ?? type) }
  notify(type, params) { return this.connection.sendNotification(type, params) }

  /** command is workspace/executeCommand; more are members such as workDoneToken. */
  command(command, argument, more = {}, token) {
    const params = { command, ...(argument === undefined ? {} : { arguments: [argument] }), ...more }
    return this.request(lsp.ExecuteCommandRequest.type, params, token)
  }

  ask(argument, more, token) { return this.command('agentls.ask', argument, more, token) }

  /** until waits for what find finds; it looks whenever a message came. */
  async until(what, find) {
    const end = AbortSignal.timeout(DEADLINE)
    for (;;) {
      const found = await find()
      if (found) return found
      try {
        await once(this, 'message', { signal: end })
      } catch {
        assert.fail(`no ${what} in ${DEADLINE / 1000} s; the server said on stderr: ${this.stderr.slice(-2000)}`)
      }
    }
  }

  /** poll asks the server again until find is content: for what comes with no message. */
  async poll(what, find) {
    for (const end = Date.now() + DEADLINE; ; await new Promise(r => setTimeout(r, 10))) {
      const found = await find()
      if (found) return found
      assert.ok(Date.now() < end, `no ${what} in ${DEADLINE / 1000} s`)
    }
  }

  asked(method) { return this.requests.filter(r => r.method === method) }
  told(method) { return this.notifications.filter(n => n.method === method).map(n => n.params) }
  events(runId) { return this.told('agentls/runEvent').filter(e => e.runId === runId) }

  ready(name = 'fake') {
    return this.poll(`${name} ready`, async () => (await this.command('agentls.mcp.servers')).find(s => s.name === name && s.status === 'ready' && s.resources !== null && s.prompts !== null))
  }

  /** stop leaves by the book. */
  async stop(code = 0) {
    assert.equal(await this.request(lsp.ShutdownRequest.type), null)
    this.leaving = true
    await this.notify(lsp.ExitNotification.type)
    const [exit] = await deadline(this.exited, 'exit')
    this.connection.dispose()
    fs.closeSync(this.trace)
    assert.equal(exit, code)
    assert.deepEqual(this.faults ?? [], [], 'the library could not take what the server sent')
  }
}

/** world runs a test with an editor, which is stopped whatever comes. */
export function world(o, body) {
  return async t => {
    const e = await Editor.start(o)
    t.after(() => { if (e.server.exitCode === null) e.server.kill() })
    await body(e, t)
    await e.stop()
  }
}

export function uriOf(file) { return pathToFileURL(file).href }

/** fails gives the error of a request that must fail with a code. */
export async function fails(promise, code, says = /./) {
  const error = await promise.then(r => assert.fail(`no error but ${JSON.stringify(r)}`), e => e)
  assert.ok(error instanceof lsp.ResponseError, String(error))
  assert.equal(error.code, code, error.message)
  assert.match(error.message, says)
  return error
}

async function deadline(promise, what) {
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no answer to ${what} in ${DEADLINE / 1000} s`)), DEADLINE) })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

function merge(base, more) {
  for (const [key, value] of Object.entries(more)) {
    base[key] = value && typeof value === 'object' && !Array.isArray(value) ? merge(base[key] ?? {}, value) : value
  }
  return base
}

/** capabilities are those that vscode-languageclient announces, as far as they matter here. */
function capabilities(features) {
  return {
    general: { positionEncodings: ['utf-16'] },
    window: { workDoneProgress: true, showDocument: { support: true }, showMessage: { messageActionItem: { additionalPropertiesSupport: true } } },
    workspace: {
      applyEdit: true, workspaceFolders: true, configuration: true,
      workspaceEdit: { documentChanges: true, changeAnnotationSupport: { groupsOnLabel: true }, metadataSupport: true },
      didChangeConfiguration: { dynamicRegistration: true }, didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
      codeLens: { refreshSupport: true }, semanticTokens: { refreshSupport: true },
    },
    textDocument: {
      synchronization: { didSave: true },
      completion: { contextSupport: true, completionItem: { labelDetailsSupport: true, documentationFormat: ['markdown', 'plaintext'], resolveSupport: { properties: ['documentation', 'detail'] } } },
      hover: { contentFormat: ['markdown', 'plaintext'] },
      codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['', 'quickfix', 'refactor', 'refactor.rewrite'] } }, resolveSupport: { properties: ['edit', 'command'] }, dataSupport: true, isPreferredSupport: true },
      codeLens: {}, documentLink: { tooltipSupport: true }, documentSymbol: { hierarchicalDocumentSymbolSupport: true }, foldingRange: { lineFoldingOnly: true },
      semanticTokens: { requests: { full: true, range: true }, tokenTypes: ['namespace', 'keyword', 'string', 'variable', 'function', 'parameter', 'comment'], tokenModifiers: [], formats: ['relative'] },
      publishDiagnostics: { relatedInformation: true, versionSupport: true },
    },
    experimental: { agentls: Object.fromEntries(features.map(f => [f, true])) },
  }
}
