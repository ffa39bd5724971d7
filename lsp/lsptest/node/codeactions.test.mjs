import assert from 'node:assert/strict'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { lsp, types, world } from './client.mjs'

const range = (a, b, c, d) => ({ start: { line: a, character: b }, end: { line: c, character: d } })
const problem = { range: range(2, 0, 2, 4), severity: 1, source: 'compiler', code: 'E1', message: 'undefined: x' }

async function actions(e, uri, where, context) {
  const list = await e.request(lsp.CodeActionRequest.type, { textDocument: { uri }, range: where, context })
  for (const a of list) {
    assert.ok(types.CodeAction.is(a), JSON.stringify(a))
    assert.ok(a.edit || e.initializeResult.capabilities.executeCommandProvider.commands.includes(a.command.command))
    assert.ok(['quickfix', 'refactor', 'refactor.rewrite'].includes(a.kind), a.kind)
  }
  return list
}

test('what is offered, by selection, diagnostics, only and trigger', world({}, async e => {
  const uri = await e.open('x.go', 'package x\n\nfunc x() {}\n')
  const titles = async (where, context) => (await actions(e, uri, where, context)).map(a => a.title)
  assert.deepEqual(await titles(range(0, 0, 0, 0), { diagnostics: [], triggerKind: 2 }), [])
  assert.deepEqual(await titles(range(0, 0, 2, 4), { diagnostics: [] }), ['Fix problems in selection', 'Rewrite', 'Explain', 'Write tests', 'Document', 'Ask about this…'])
  assert.deepEqual((await titles(range(2, 0, 2, 0), { diagnostics: [problem], triggerKind: 2 })).slice(0, 2), ['Fix: undefined: x', 'Explain: undefined: x'])
  assert.deepEqual(await titles(range(0, 0, 2, 4), { diagnostics: [], only: ['refactor.rewrite'] }), ['Rewrite'])
  assert.deepEqual(await titles(range(0, 0, 2, 4), { diagnostics: [], only: ['source.fixAll'] }), [])
}))

test('an action comes back from resolve, runs, and its answer is shown', world({}, async e => {
  const uri = await e.open('x.go', 'package x\n\nfunc x() {}\n')
  const explain = (await actions(e, uri, range(0, 0, 2, 4), { diagnostics: [] })).find(a => a.title === 'Explain')
  const resolved = await e.request(lsp.CodeActionResolveRequest.type, explain)
  assert.deepEqual(resolved, explain)
  const r = await e.request(lsp.ExecuteCommandRequest.type, resolved.command)
  assert.equal(r.status, 'completed')
  const shown = await e.until('the answer', () => e.asked('window/showDocument')[0])
  assert.match(fs.readFileSync(fileURLToPath(shown.params.uri), 'utf8'), /Hello from the model\./)
}))

test('an edit of an open document goes by applyEdit, and never over what was typed', world({ options: { approval: { default: 'allow' } } }, async e => {
  const uri = await e.open('x.go', 'package x\n\nvar a = 1\n')
  fs.writeFileSync(fileURLToPath(uri), 'package x\n\nvar a = 1\n')
  const edit = JSON.stringify({ path: 'x.go', edits: [{ old: 'var a = 1', new: 'var a = 2' }] })
  const read = await e.ask({ prompt: 'call read_file {"path":"x.go"}', session: 's' })
  assert.equal(read.toolCalls[0].status, 'completed')
  const r = await e.ask({ prompt: `call edit_file ${edit}`, session: 's' })
  assert.equal(r.toolCalls[0].status, 'completed', r.text)
  assert.equal(e.text(uri), 'package x\n\nvar a = 2\n')
  assert.deepEqual(r.changed.map(c => c.uri), [uri])
  const { edit: sent } = e.asked('workspace/applyEdit')[0].params
  assert.equal(sent.documentChanges[0].textDocument.version, 1)
  await e.change(uri, 'package y\n')
  const stale = await e.ask({ prompt: `call edit_file ${edit}`, session: 's' })
  assert.notEqual(stale.toolCalls[0].status, 'completed')
  assert.equal(e.text(uri), 'package y\n')
}))

test('a client with save saves what was clean', world({ features: ['save'], options: { approval: { default: 'allow' } } }, async e => {
  const clean = 'package x\n\nvar a = 1\n'
  fs.writeFileSync(fileURLToPath(e.uri('x.go')), clean)
  const uri = await e.open('x.go', clean)
  e.answers.set('agentls/save', async ({ uris }) => {
    for (const u of uris) {
      fs.writeFileSync(fileURLToPath(u), e.text(u))
      await e.notify(lsp.DidSaveTextDocumentNotification.type, { textDocument: { uri: u } })
    }
    return { saved: uris, failed: [] }
  })
  await e.ask({ prompt: 'call read_file {"path":"x.go"}', session: 's' })
  const r = await e.ask({ prompt: `call edit_file ${JSON.stringify({ path: 'x.go', edits: [{ old: '= 1', new: '= 2' }] })}`, session: 's' })
  assert.deepEqual(r.changed, [{ uri, saved: true }])
  assert.equal(fs.readFileSync(fileURLToPath(uri), 'utf8'), 'package x\n\nvar a = 2\n')
}))

test('a client with diagnostics is asked for them, and told of by them', world({ features: ['diagnostics'] }, async e => {
  const uri = await e.open('x.go', 'package x\n\nfunc x() {}\n')
  e.answers.set('agentls/diagnostics', () => [{ uri, version: 1, diagnostics: [problem] }])
  await e.notify('agentls/didChangeDiagnostics', {})
  const list = await e.poll('the fix', async () => { const l = await actions(e, uri, range(2, 0, 2, 4), { diagnostics: [] }); return l.some(a => a.title === 'Fix: undefined: x') && l })
  assert.ok(!list.some(a => a.title === 'Fix problems in selection'))
}))
