import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fails, lsp, uriOf, world } from './client.mjs'

test('settings are pulled, and a change of them applies', world({ options: { approval: {} } }, async e => {
  await e.ready()
  await e.until('the question for settings', () => e.asked('workspace/configuration').find(r => r.params.items[0].section === 'agentls'))
  await e.until('the registration', () => e.asked('client/registerCapability').some(r => r.params.registrations.some(x => x.method === 'workspace/didChangeConfiguration')))
  const prompt = 'call mcp__fake__echo {"text":"pong"}'
  e.settings = { approval: { allow: ['fake/echo'] } }
  await e.notify(lsp.DidChangeConfigurationNotification.type, { settings: null })
  await e.until('the answer', () => e.asked('workspace/configuration').at(-1).result?.[0]?.approval)
  await e.until('the news in the log', () => e.told('window/logMessage').some(m => /configuration was read anew/.test(m.message)))
  assert.equal((await e.ask(prompt)).toolCalls[0].status, 'completed')
  await e.notify(lsp.DidChangeConfigurationNotification.type, { settings: { agentls: { approval: { deny: ['fake/echo'] } } } })
  await e.poll('the deny', async () => (await e.ask(prompt)).toolCalls[0].status === 'denied')
}))

test('a wrong type in the user\'s file is a diagnostic there, and the rest counts', world({}, async e => {
  const file = path.join(e.dir, 'config', 'agentls', 'config.json')
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, '{\n  "notifications": 5,\n  "answers": "none"\n}\n')
  await e.notify(lsp.DidChangeWatchedFilesNotification.type, { changes: [{ uri: uriOf(file), type: lsp.FileChangeType.Created }] })
  const list = await e.until('the diagnostic', () => e.diagnostics.get(uriOf(file))?.length && e.diagnostics.get(uriOf(file)))
  assert.equal(list[0].range.start.line, 1)
  fs.writeFileSync(file, '{"answers": "none"}\n')
  await e.notify(lsp.DidChangeWatchedFilesNotification.type, { changes: [{ uri: uriOf(file), type: lsp.FileChangeType.Changed }] })
  await e.until('no diagnostic', () => e.diagnostics.get(uriOf(file))?.length === 0)
}))

test('folders come and go, and the workspace server with them', world({}, async e => {
  const other = path.join(e.dir, 'other')
  fs.mkdirSync(other)
  fs.writeFileSync(path.join(other, 'there.md'), 'there\n')
  const names = async query => (await e.command('agentls.mcp.resources', { server: 'workspace', query })).resources.map(r => r.uri)
  await e.poll('the folder', async () => (await names('README')).length === 1)
  assert.deepEqual(await names('there'), [])
  const folder = { uri: uriOf(other), name: 'other' }
  await e.notify(lsp.DidChangeWorkspaceFoldersNotification.type, { event: { added: [folder], removed: [] } })
  await e.poll('the new folder', async () => (await names('there')).includes('file://other/there.md'))
  await e.notify(lsp.DidChangeWorkspaceFoldersNotification.type, { event: { added: [], removed: [folder] } })
  await e.poll('its end', async () => (await names('there')).length === 0)
}))

test('the editor\'s text stands before the disk, and what the disk does is told', world({}, async e => {
  const uri = await e.open('README.md', '# Unsaved\n')
  const r = await e.ask('repeat @workspace:file://README.md')
  assert.match(r.text, /# Unsaved/)
  await e.close(uri)
  fs.writeFileSync(fileURLToPath(e.uri('late.md')), 'late\n')
  await e.notify(lsp.DidChangeWatchedFilesNotification.type, { changes: [{ uri: e.uri('late.md'), type: lsp.FileChangeType.Created }] })
  await e.poll('the file', async () => (await e.command('agentls.mcp.resources', { server: 'workspace', query: 'late' })).resources.length === 1)
  fs.renameSync(fileURLToPath(e.uri('late.md')), fileURLToPath(e.uri('moved.md')))
  await e.notify(lsp.DidRenameFilesNotification.type, { files: [{ oldUri: e.uri('late.md'), newUri: e.uri('moved.md') }] })
  await e.poll('the rename', async () => (await e.command('agentls.mcp.resources', { server: 'workspace', query: 'moved' })).resources.length === 1)
}))

test('one document however its URI is spelled', world({}, async e => {
  await e.open('a b.agentls.md', '## You\n\nhello\n')
  const odd = e.uri('a b.agentls.md').replace('%20', ' ')
  const r = await e.command('agentls.send', { uri: odd.replace(/agentls/, '%61gentls') })
  assert.equal(r.text, 'Hello from the model.')
  assert.match(e.text(e.uri('a b.agentls.md')), /## Agent/)
}))

test('what servers say reaches the log, and a warning pops up', world({}, async e => {
  await e.ready()
  await e.ask('call mcp__fake__log {"level":"warning","text":"the disk is full [x](command:y)"}')
  const shown = await e.until('the popup', () => e.told('window/showMessage').find(m => m.message.includes('the disk is full')))
  assert.match(shown.message, /^fake: /)
  assert.doesNotMatch(shown.message, /\]\(/)
  assert.ok(e.told('window/logMessage').some(m => m.message.includes('the disk is full')))
}))

test('a new tool is there in the same run, and its list is told', world({}, async e => {
  await e.ready()
  await e.ask('call mcp__fake__add_tool {}')
  await e.poll('the tool', async () => (await e.command('agentls.mcp.tools', { server: 'fake', query: 'late_tool' })).tools.length === 1)
  await e.until('the news', () => e.told('window/logMessage').some(m => /fake: tools: .*late_tool/.test(m.message)))
}))

test('a resource that changed is read anew', world({}, async e => {
  await e.ready()
  const uri = 'docs://doc0.md'
  assert.match((await e.ask(`repeat @fake:${uri}`)).text, /v0/)
  await e.ask(`call mcp__fake__touch {"uri":"${uri}"}`)
  await e.poll('the new text', async () => /v1/.test((await e.ask(`repeat @fake:${uri}`)).text))
}))

test('malformed params of every method are answered, and the server lives', world({}, async e => {
  const uri = await e.open('p.agentls.md', '## You\n\n@\n')
  const methods = ['textDocument/completion', 'completionItem/resolve', 'textDocument/codeAction', 'codeAction/resolve', 'workspace/executeCommand',
    'textDocument/codeLens', 'textDocument/documentSymbol', 'textDocument/foldingRange', 'textDocument/semanticTokens/full', 'textDocument/semanticTokens/range',
    ...(e.initializeResult.capabilities.hoverProvider ? ['textDocument/hover'] : []), ...(e.initializeResult.capabilities.documentLinkProvider ? ['textDocument/documentLink', 'documentLink/resolve'] : [])]
  for (const method of methods) {
    for (const params of [null, [], [5], {}, { textDocument: null }, { textDocument: { uri: 5 } }, { textDocument: { uri }, position: 'x', range: 'x' }, { command: {}, arguments: {} }]) {
      const error = await e.request(method, params).then(() => null, x => x)
      assert.ok(error === null || error.code === lsp.ErrorCodes.InvalidParams || error.code === lsp.LSPErrorCodes.RequestFailed, `${method} ${JSON.stringify(params)}: ${error}`)
    }
  }
  for (const method of ['textDocument/didOpen', 'textDocument/didChange', 'textDocument/didClose', 'textDocument/didSave', 'workspace/didChangeConfiguration',
    'workspace/didChangeWorkspaceFolders', 'workspace/didChangeWatchedFiles', 'workspace/didRenameFiles', '$/cancelRequest', 'window/workDoneProgress/cancel', 'agentls/didChangeDiagnostics']) {
    for (const params of [null, [], {}, { textDocument: 5, event: 5, settings: 5, changes: 5, files: 5, id: {}, token: {} }]) await e.notify(method, params)
  }
  await fails(e.command('agentls.nosuch'), lsp.ErrorCodes.InvalidParams)
  assert.equal((await e.ask('hello')).status, 'completed')
}))
