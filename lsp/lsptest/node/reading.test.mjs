import assert from 'node:assert/strict'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { fails, lsp, setup, types, world } from './client.mjs'

const text = '## You\n\n𝄞 see @fake:docs://doc1.md, @workspace:file://README.md and `@fake:docs://doc0.md`\n\n## Agent\n\n@fake:docs://doc2.md\n'

test('hover tells what a mention is, in a fence that its text cannot leave', world({}, async e => {
  await e.ready()
  const uri = await e.open('p.agentls.md', text)
  const at = (line, character) => e.request(lsp.HoverRequest.type, { textDocument: { uri }, position: { line, character } })
  const hover = await e.poll('a body', async () => { const h = await at(2, 12); return h?.contents.value.includes('Content of') && h })
  assert.ok(types.Hover.is(hover))
  assert.equal(hover.contents.kind, 'markdown')
  e.within(uri, hover.range)
  assert.equal(e.documents.get(uri).getText(hover.range), '@fake:docs://doc1.md')
  assert.equal((hover.contents.value.match(/^`{3,}/gm) ?? []).length % 2, 0, 'a fence is open')
  assert.equal(await at(2, 1), null)
  assert.equal(await at(6, 8), null, 'an answer has no mentions')
  const go = await e.open('x.go', '@fake:docs://doc1.md')
  assert.equal(await e.request(lsp.HoverRequest.type, { textDocument: { uri: go }, position: { line: 0, character: 8 } }), null)
}))

test('links lead to the file, else to a read-only copy, never to the MCP URI', world({}, async e => {
  await e.ready()
  const uri = await e.open('p.agentls.md', text)
  await e.poll('the folder', async () => (await e.command('agentls.mcp.resources', { server: 'workspace' })).resources.length > 0)
  const links = await e.request(lsp.DocumentLinkRequest.type, { textDocument: { uri } })
  assert.equal(links.length, 2)
  for (const l of links) {
    assert.ok(types.DocumentLink.is(l))
    e.within(uri, l.range)
  }
  const [copy, file] = await Promise.all(links.map(l => l.target ? l : e.request(lsp.DocumentLinkResolveRequest.type, l)))
  assert.equal(e.documents.get(uri).getText(file.range), '@workspace:file://README.md')
  assert.equal(file.target, e.uri('README.md'))
  assert.match(copy.target, /^file:\/\//)
  const path = fileURLToPath(copy.target)
  assert.match(fs.readFileSync(path, 'utf8'), /# Content of docs:\/\/doc1\.md/)
  assert.equal(fs.statSync(path).mode & 0o222, 0, 'the copy can be written')
}))

test('a / line completes, runs without a model, and is never sent when it is unknown', world({}, async e => {
  await e.ready()
  const uri = await e.open('p.agentls.md', '## You\n\n/ca')
  const complete = async (line, character) => (await e.request(lsp.CompletionRequest.type, { textDocument: { uri }, position: { line, character } }))?.items
  const cancel = (await complete(2, 3)).find(i => i.label === '/cancel')
  assert.equal(types.TextDocument.applyEdits(e.documents.get(uri), [cancel.textEdit]), '## You\n\n/cancel')
  await e.change(uri, '## You\n\n/fake:rev')
  const review = (await complete(2, 9)).find(i => i.label === '/fake:review')
  await e.change(uri, types.TextDocument.applyEdits(e.documents.get(uri), [review.textEdit]) + ' focus=s')
  const focus = (await complete(2, e.text(uri).split('\n')[2].length)).map(i => i.label)
  assert.deepEqual(focus.sort(), ['security', 'speed'])
  await e.change(uri, '## You\n\n/mcp list\n')
  const listed = await e.command('agentls.send', { uri })
  assert.equal(listed.steps, 0)
  assert.match(e.text(uri), /## Agent\n\n[^]*fake/)
  await fails(e.ask('/hlep'), lsp.ErrorCodes.InvalidParams, /did you mean \/help/)
  assert.match((await e.ask('/usr/bin/env is a path')).text, /Hello from the model/)
}))

test('prompts of servers: their messages, and a run that begins with them', world({}, async e => {
  await e.ready()
  const { messages } = await e.command('agentls.mcp.usePrompt', { server: 'fake', name: 'review', arguments: { focus: 'speed' } })
  assert.equal(messages[0].role, 'user')
  assert.match(messages[0].contents[0].text, /Review it/)
  const run = await e.command('agentls.mcp.usePrompt', { server: 'fake', name: 'review', arguments: { focus: 'speed' }, run: true, session: 's' })
  assert.equal(run.status, 'completed')
  assert.equal(run.session, 's')
  await fails(e.command('agentls.mcp.usePrompt', { server: 'fake', name: 'nosuch' }), lsp.ErrorCodes.InvalidParams, /nosuch/)
  await fails(e.command('agentls.mcp.usePrompt', { server: 'fake', name: 'review', arguments: { focsu: 'x' } }), lsp.ErrorCodes.InvalidParams, /focus/)
}))

test('a server is switched off and on, and its log is there', world({}, async e => {
  await e.ready()
  assert.equal((await e.command('agentls.mcp.disable', 'fake')).status, 'disabled')
  const uri = await e.open('p.agentls.md', '@fake:docs://doc1.md')
  const [problem] = await e.until('a diagnostic', () => e.diagnostics.get(uri)?.length && e.diagnostics.get(uri))
  assert.match(problem.message, /fake/)
  await e.command('agentls.mcp.enable', { server: 'fake' })
  await e.ready()
  await e.until('no diagnostic', () => e.diagnostics.get(uri).length === 0)
  await e.ask('call mcp__fake__log {"level":"warning","text":"a line of its log"}')
  const { lines } = await e.poll('the line', async () => { const r = await e.command('agentls.mcp.logs', 'fake'); return r.lines.some(l => l.text.includes('a line of its log')) && r })
  assert.ok(lines.length > 0)
}))

test('the model in force, and another one', world({}, async e => {
  const { provider, model, choices } = await e.command('agentls.model')
  assert.deepEqual([provider, model], ['openai', 'tiny'])
  assert.ok(choices.some(c => c.provider === 'offline'))
  assert.equal((await e.command('agentls.model', { provider: 'offline' })).provider, 'offline')
  assert.match((await e.ask('hello')).text, /not a language model/i)
  await fails(e.command('agentls.model', { provider: 'nosuch' }), lsp.ErrorCodes.InvalidParams, /nosuch/)
}))

test('setup finds a provider and writes the choice into the user\'s file', world({ offline: true }, async e => {
  const { found, config } = await e.command('agentls.setup')
  assert.ok(Array.isArray(found))
  const made = await e.command('agentls.setup', { provider: 'mine', baseURL: setup.provider.OPENAI_BASE_URL, model: 'tiny' })
  assert.equal(made.config, config)
  assert.match(fs.readFileSync(config, 'utf8'), /"mine"/)
  assert.deepEqual([made.inForce.provider, made.inForce.model], ['mine', 'tiny'])
  assert.equal((await e.ask('hello')).text, 'Hello from the model.')
}))
