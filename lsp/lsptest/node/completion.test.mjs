import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lsp, types, world } from './client.mjs'

function complete(e, uri, line, character, context) {
  return e.request(lsp.CompletionRequest.type, { textDocument: { uri }, position: { line, character }, ...(context ? { context } : {}) })
}

test('a mention completes; accepting an item gives the mention whole', world({}, async e => {
  await e.ready()
  const uri = await e.open('p.agentls.md', '## You\n\n𝄞 see @fake:docs://do\n')
  const list = await complete(e, uri, 2, 22, { triggerKind: 2, triggerCharacter: '/' })
  assert.equal(typeof list.isIncomplete, 'boolean')
  const item = list.items.find(i => i.label === 'doc1.md')
  e.within(uri, item.textEdit.range)
  assert.ok(item.filterText.includes('@fake:docs://do'))
  assert.equal(types.TextDocument.applyEdits(e.documents.get(uri), [item.textEdit]), '## You\n\n𝄞 see @fake:docs://doc1.md\n')
  const resolved = await e.request(lsp.CompletionResolveRequest.type, item)
  assert.equal(resolved.label, 'doc1.md')
  assert.ok(resolved.documentation)
  assert.deepEqual({ ...resolved, documentation: undefined, detail: undefined }, { ...item, documentation: undefined, detail: undefined })
}))

test('every item fits: its range, its order, its label', world({}, async e => {
  await e.ready()
  const uri = await e.open('p.agentls.md', '@')
  const list = await complete(e, uri, 0, 1)
  assert.ok(list.items.length > 3 && list.items.length <= 100)
  for (const i of list.items) {
    e.within(uri, i.textEdit.range)
    assert.ok(types.TextEdit.is(i.textEdit))
    assert.ok(i.label && i.sortText && i.filterText)
  }
  const sorted = list.items.map(i => i.sortText)
  assert.deepEqual([...sorted].sort(), sorted)
}))

test('outside a mention and in other documents: null', world({}, async e => {
  await e.ready()
  const buffer = await e.open('p.agentls.md', '## You\n\nmail me@fake:docs://doc\n\n```\n@fake:docs\n```\n\n## Agent\n\n@fake:docs\n')
  const go = await e.open('x.go', '@fake:docs')
  for (const [uri, line, character] of [[buffer, 2, 4], [buffer, 2, 23], [buffer, 5, 10], [buffer, 10, 10], [go, 0, 10], [e.uri('unopened.md'), 0, 0]]) {
    assert.equal(await complete(e, uri, line, character), null, `${uri} ${line}:${character}`)
  }
}))

test('completion sees the text of its time, in a burst of keys', world({}, async e => {
  await e.ready()
  const uri = await e.open('p.agentls.md', '')
  const answers = []
  const text = '@fake:docs://doc2.md'
  for (let n = 1; n <= text.length; n++) {
    await e.change(uri, text.slice(0, n))
    answers.push(complete(e, uri, 0, n))
  }
  for (const [i, list] of (await Promise.all(answers)).entries()) {
    const item = list.items.find(x => x.textEdit.newText === text)
    assert.ok(item, `after ${text.slice(0, i + 1)}`)
    assert.deepEqual(item.textEdit.range, { start: { line: 0, character: 0 }, end: { line: 0, character: i + 1 } })
  }
}))
