import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fails, lsp, types, world } from './client.mjs'

const buffer = 'chat.agentls.md'

test('send writes the answer and a new turn, and nobody else writes', world({}, async e => {
  const uri = await e.open(buffer, '## You\n\nhello\n')
  const r = await e.command('agentls.send', { uri })
  assert.equal(r.text, 'Hello from the model.')
  assert.equal(e.text(uri), '## You\n\nhello\n\n## Agent\n\nHello from the model.\n\n## You\n\n')
  assert.equal(e.asked('workspace/applyEdit').length, 1)
  await e.change(uri, e.text(uri) + 'how many\n')
  const again = await e.command('agentls.send', uri)
  assert.equal(again.session, r.session)
  assert.match(again.text, /^I know 3 messages$/, 'earlier blocks are not sent again')
}))

test('stream: at most four edits a second, at an anchor that moves', world({}, async e => {
  const uri = await e.open(buffer, '## You\n\ndrip\n')
  const start = Date.now()
  const run = e.command('agentls.send', { uri, stream: true })
  await e.until('a first piece', () => e.text(uri).includes('word0'))
  await e.change(uri, '# Title\n\n' + e.text(uri))
  await run
  assert.match(e.text(uri), /^# Title\n\n## You\n\ndrip\n\n## Agent\n\n(word\d\n){8}\n+## You\n/)
  const edits = e.asked('workspace/applyEdit').length
  assert.ok(edits > 1 && edits <= 4 * (Date.now() - start) / 1000 + 2, `${edits} edits`)
}))

test('an answer keeps clear of the turns: headings, fences', world({}, async e => {
  const uri = await e.open(buffer, '## You\n\nrepeat\n## Agent x\n')
  await e.command('agentls.send', { uri })
  const headings = e.text(uri).split('\n').filter(l => l === '## You' || l === '## Agent')
  assert.deepEqual(headings, ['## You', '## Agent', '## You'])
}))

test('a buffer without a prompt, a document that is none', world({}, async e => {
  const empty = await e.open(buffer, '## You\n\n')
  await fails(e.command('agentls.send', { uri: empty }), lsp.ErrorCodes.InvalidParams, /no prompt there/)
  const go = await e.open('x.go', 'package x\n')
  await fails(e.command('agentls.send', { uri: go }), lsp.ErrorCodes.InvalidParams, /no prompt buffer/)
  await fails(e.command('agentls.send', { uri: e.uri('nosuch.agentls.md') }), lsp.ErrorCodes.InvalidParams, /open it first/)
}))

const text = '## You\n\nsee @fake:docs://doc1.md and @nosuch:docs://x\n\n## Agent\n\nAn answer\nof two lines.\n\n## You\n\nsum up 𝄞 @fake:docs://doc0.md\n'

test('semantic tokens: in order, inside their lines, of the legend', world({}, async e => {
  await e.ready()
  const uri = await e.open(buffer, text)
  const { legend } = e.initializeResult.capabilities.semanticTokensProvider
  const all = await e.request(lsp.SemanticTokensRequest.type, { textDocument: { uri } })
  const tokens = decode(e, uri, all.data, legend)
  assert.ok(tokens.some(t => t.text.startsWith('## You')))
  assert.ok(tokens.some(t => t.text.includes('doc0.md')))
  const part = await e.request(lsp.SemanticTokensRangeRequest.type, { textDocument: { uri }, range: { start: { line: 9, character: 0 }, end: { line: 12, character: 0 } } })
  assert.deepEqual(decode(e, uri, part.data, legend), tokens.filter(t => t.line >= 9))
  const go = await e.open('x.go', 'package x\n')
  assert.equal(await e.request(lsp.SemanticTokensRequest.type, { textDocument: { uri: go } }), null)
}))

function decode(e, uri, data, legend) {
  assert.equal(data.length % 5, 0)
  const tokens = []
  let line = 0; let character = 0
  for (let i = 0; i < data.length; i += 5) {
    const [dl, dc, length, type, modifiers] = data.slice(i, i + 5)
    line += dl
    character = dl ? dc : character + dc
    assert.ok(length > 0)
    assert.ok(type < legend.tokenTypes.length)
    assert.ok(modifiers < 2 ** legend.tokenModifiers.length)
    const range = { start: { line, character }, end: { line, character: character + length } }
    e.within(uri, range)
    tokens.push({ line, character, type: legend.tokenTypes[type], text: e.documents.get(uri).getText(range) })
  }
  return tokens
}

test('symbols and folding: turns that lie in the document and beside each other', world({}, async e => {
  const uri = await e.open(buffer, text)
  const symbols = await e.request(lsp.DocumentSymbolRequest.type, { textDocument: { uri } })
  const doc = e.documents.get(uri)
  const lie = (list, end, last) => { // beside each other, inside what holds them
    for (const s of list) {
      assert.ok(types.DocumentSymbol.is(s), JSON.stringify(s))
      e.within(uri, s.range)
      e.within(uri, s.selectionRange)
      const [from, to] = [doc.offsetAt(s.range.start), doc.offsetAt(s.range.end)]
      assert.ok(from >= end && from <= doc.offsetAt(s.selectionRange.start) && doc.offsetAt(s.selectionRange.end) <= to && to <= last, JSON.stringify(s))
      lie(s.children ?? [], from, to)
      end = to
    }
  }
  assert.ok(symbols.length > 0)
  lie(symbols, 0, doc.getText().length)
  const names = symbols.flatMap(s => [s, ...(s.children ?? [])]).map(s => s.name)
  assert.ok(names.some(n => n.includes('sum up')), names.join())
  const folds = await e.request(lsp.FoldingRangeRequest.type, { textDocument: { uri } })
  assert.ok(folds.length > 0)
  for (const f of folds) {
    assert.ok(types.FoldingRange.is(f))
    assert.ok(f.startLine < f.endLine && f.endLine < doc.lineCount)
  }
  const go = await e.open('x.go', 'package x\n')
  assert.equal(await e.request(lsp.FoldingRangeRequest.type, { textDocument: { uri: go } }), null)
  assert.equal(await e.request(lsp.DocumentSymbolRequest.type, { textDocument: { uri: go } }), null)
}))

test('code lens: send, and cancel while it runs', world({}, async e => {
  const uri = await e.open(buffer, '## You\n\nstream on\n')
  const lenses = async () => {
    const list = await e.request(lsp.CodeLensRequest.type, { textDocument: { uri } })
    for (const l of list) {
      assert.ok(types.CodeLens.is(l) && types.Command.is(l.command))
      e.within(uri, l.range)
      assert.ok(e.initializeResult.capabilities.executeCommandProvider.commands.includes(l.command.command))
    }
    return list
  }
  const send = (await lenses()).find(l => l.command.title === 'Send')
  const run = fails(e.request(lsp.ExecuteCommandRequest.type, send.command), lsp.LSPErrorCodes.RequestCancelled)
  const cancel = await e.poll('a lens to cancel', async () => (await lenses()).find(l => l.command.title.startsWith('Cancel')))
  await e.until('a refresh', () => e.asked('workspace/codeLens/refresh').length > 0)
  await e.request(lsp.ExecuteCommandRequest.type, cancel.command)
  await run
}))

test('diagnostics of mentions that lead nowhere, with quick fixes; gone with the buffer', world({}, async e => {
  await e.ready()
  const uri = await e.open(buffer, '## You\n\nsee @faek:docs://doc1.md\n')
  const [problem] = await e.until('a diagnostic', () => e.diagnostics.get(uri)?.length && e.diagnostics.get(uri))
  assert.equal(problem.source, 'agentls')
  assert.match(problem.message, /faek/)
  assert.match(e.documents.get(uri).getText(problem.range), /faek/)
  const actions = await e.request(lsp.CodeActionRequest.type, { textDocument: { uri }, range: problem.range, context: { diagnostics: [problem] } })
  const fix = actions.find(a => a.edit)
  assert.ok(fix && types.CodeAction.is(fix), JSON.stringify(actions))
  assert.equal(fix.kind, 'quickfix')
  assert.deepEqual(await e.applyEdit(fix.edit), { applied: true })
  assert.equal(e.text(uri), '## You\n\nsee @fake:docs://doc1.md\n')
  await e.until('no diagnostic', () => e.diagnostics.get(uri).length === 0)
}))
