import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Editor, fails, lsp, world } from './client.mjs'

test('initialize says what the server is and can', world({}, async e => {
  const { serverInfo, capabilities: c } = e.initializeResult
  assert.equal(serverInfo.name, 'agentls')
  assert.equal(c.positionEncoding, 'utf-16')
  assert.deepEqual(c.textDocumentSync, { openClose: true, change: lsp.TextDocumentSyncKind.Incremental, save: true })
  assert.deepEqual(c.completionProvider.triggerCharacters, ['@', ':', '/'])
  assert.equal(c.completionProvider.resolveProvider, true)
  assert.deepEqual(c.codeActionProvider.codeActionKinds, ['quickfix', 'refactor', 'refactor.rewrite'])
  assert.equal(c.codeActionProvider.resolveProvider, true)
  assert.equal(c.executeCommandProvider.workDoneProgress, true)
  assert.ok(c.executeCommandProvider.commands.every(name => name.startsWith('agentls.')))
  assert.deepEqual(c.workspace.workspaceFolders, { supported: true, changeNotifications: true })
  assert.ok(c.experimental.agentls.features.includes('runEvents'))
  for (const provider of ['documentSymbolProvider', 'foldingRangeProvider', 'semanticTokensProvider', 'codeLensProvider']) assert.ok(c[provider], provider)
}))

test('a client with approvals hears of no command that approves, trusts or undoes', world({ features: ['approvals'] }, async e => {
  const { commands } = e.initializeResult.capabilities.executeCommandProvider
  for (const name of ['approve', 'mcp.trust', 'mcp.enable', 'model', 'undo', 'setup']) assert.ok(!commands.includes(`agentls.${name}`), name)
  assert.deepEqual(await e.command('agentls.approve', { id: 'none', decision: 'deny' }), { resolved: false })
}))

test('unknown methods, requests after shutdown', async () => {
  const e = await Editor.start()
  await fails(e.request('textDocument/noSuch', {}), lsp.ErrorCodes.MethodNotFound)
  await e.notify('no/such', {})
  await e.notify('$/noSuch', {})
  assert.equal(await e.request(lsp.ShutdownRequest.type), null)
  await fails(e.request(lsp.CompletionRequest.type, { textDocument: { uri: e.uri('x') }, position: { line: 0, character: 0 } }), lsp.ErrorCodes.InvalidRequest)
  await e.notify(lsp.ExitNotification.type)
  assert.equal((await e.exited)[0], 0)
})

test('exit without shutdown is exit code 1', async () => {
  const e = await Editor.start()
  await e.notify(lsp.ExitNotification.type)
  assert.equal((await e.exited)[0], 1)
})

test('the end of the input ends the process, and what was asked is answered', async () => {
  const e = await Editor.start()
  const pending = fails(e.ask('stream on'), lsp.LSPErrorCodes.RequestCancelled)
  await e.poll('a run', async () => (await e.command('agentls.runs')).some(r => r.status === 'running'))
  e.server.stdin.end()
  await pending
  assert.equal((await e.exited)[0], 0)
})

test('a client that is killed is noticed', async () => {
  const e = await Editor.start()
  e.server.kill('SIGTERM')
  const [code, signal] = e.server.exitCode === null ? await once(e.server, 'exit') : [e.server.exitCode, null]
  assert.equal(signal, null, 'the server ends by itself')
  assert.ok(code === 0 || code === 1, `exit code ${code}`)
})
