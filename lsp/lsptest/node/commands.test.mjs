import assert from 'node:assert/strict'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { fails, lsp, world } from './client.mjs'

const INVALID = lsp.ErrorCodes.InvalidParams

test('bad arguments of every command are refused with what to do', world({}, async e => {
  const { commands } = e.initializeResult.capabilities.executeCommandProvider
  assert.ok(commands.length > 20, commands.join())
  for (const name of commands) {
    await fails(e.command(name, { 'no such field': 1 }), INVALID, /unknown field|is missing|open a prompt buffer|takes/)
    await fails(e.command(name, 5), INVALID, /takes one object/)
    await fails(e.request(lsp.ExecuteCommandRequest.type, { command: name, arguments: [{}, {}] }), INVALID, /not 2 arguments/)
    await fails(e.request(lsp.ExecuteCommandRequest.type, { command: name, arguments: 'x' }), INVALID, /must be an array/)
  }
  await fails(e.command('agentls.sak'), INVALID, /did you mean agentls.ask/)
  await fails(e.ask(), INVALID, /agentls\.new/)
}))

test('ask: an object, a bare string; the whole result', world({}, async e => {
  const r = await e.ask('hello')
  assert.equal(r.status, 'completed')
  assert.equal(r.text, 'Hello from the model.')
  assert.equal(r.stopReason, 'end_turn')
  assert.equal(r.steps, 1)
  assert.deepEqual([r.mentions, r.toolCalls, r.changed, r.untracked], [[], [], [], []])
  for (const key of ['promptTokens', 'completionTokens', 'totalTokens']) assert.equal(typeof r.usage[key], 'number')
  const again = await e.ask({ prompt: 'how many', session: r.session, runId: 'second' })
  assert.equal(again.runId, 'second')
  assert.equal(again.session, r.session)
  assert.equal(again.text, 'I know 3 messages')
  await fails(e.ask({ prompt: 'x', runId: 'second' }), INVALID, /second/)
  const runs = await e.command('agentls.runs')
  assert.deepEqual(runs.map(x => [x.prompt, x.status, x.mode]).sort(), [['hello', 'completed', 'react'], ['how many', 'completed', 'react']])
}))

test('sessions: list, show, fork, clear, delete', world({}, async e => {
  const { session } = await e.ask({ prompt: 'hello', session: 'mine' })
  assert.equal(session, 'mine')
  const [info, ...more] = await e.command('agentls.session.list')
  assert.deepEqual([info.session, info.title, info.turns, more.length], ['mine', 'hello', 1, 0])
  const shown = await e.command('agentls.session.show', 'mine')
  assert.deepEqual(shown.messages.map(m => [m.role, m.text]), [['user', 'hello'], ['assistant', 'Hello from the model.']])
  const fork = await e.command('agentls.session.fork', { session: 'mine' })
  assert.notEqual(fork.session, 'mine')
  assert.deepEqual((await e.command('agentls.session.show', fork.session)).messages.length, 2)
  await e.command('agentls.session.clear', 'mine')
  assert.equal((await e.command('agentls.session.delete', 'mine')).session, 'mine')
  assert.deepEqual((await e.command('agentls.session.list')).map(s => s.session), [fork.session])
  await fails(e.command('agentls.session.show', 'mine'), INVALID, /there is no session "mine"/)
}))

test('servers: what they have, page by page, and what is read of them', world({}, async e => {
  const server = await e.ready()
  assert.equal(server.mention, 'fake')
  assert.equal(server.trusted, true)
  assert.equal(server.resources, 3)
  const first = await e.command('agentls.mcp.resources', { server: 'fake', limit: 2 })
  assert.equal(first.resources.length, 2)
  assert.equal(first.stale, false)
  const rest = await e.command('agentls.mcp.resources', { server: 'fake', limit: 2, cursor: first.nextCursor })
  assert.deepEqual([...first.resources, ...rest.resources].map(r => r.uri), ['docs://doc0.md', 'docs://doc1.md', 'docs://doc2.md'])
  assert.equal(rest.nextCursor, undefined)
  assert.deepEqual((await e.command('agentls.mcp.resources', { server: 'fake', query: 'doc1' })).resources.map(r => r.name), ['doc1.md'])
  const { tools } = await e.command('agentls.mcp.tools', 'fake')
  assert.ok(tools.some(t => t.name === 'echo'))
  const { prompts } = await e.command('agentls.mcp.prompts', 'fake')
  assert.ok(prompts.some(p => p.name === 'review'))
  const { contents } = await e.command('agentls.mcp.read', { server: 'fake', uri: 'docs://doc1.md' })
  assert.deepEqual(contents.map(c => [c.uri, c.mimeType, typeof c.text]), [['docs://doc1.md', 'text/markdown', 'string']])
  await fails(e.command('agentls.mcp.read', { server: 'fake', uri: 'docs://nosuch' }), INVALID, /not found/i)
  await fails(e.command('agentls.mcp.tools', 'faek'), INVALID, /did you mean|fake/)
  await e.command('agentls.mcp.restart', 'fake')
  await e.ready()
  assert.ok((await e.command('agentls.audit', { tool: 'resources/read' })).length > 0 || (await e.command('agentls.audit', {})).length > 0)
}))

test('new: a prompt buffer with the selection quoted', world({}, async e => {
  const uri = await e.open('x.go', 'package x\n\nfunc x() {}\n')
  const made = await e.command('agentls.new', { document: { uri, range: { start: { line: 2, character: 0 }, end: { line: 2, character: 11 } } } })
  assert.match(made.uri, /\.agentls\.md$/)
  assert.ok(made.session)
  assert.match(fs.readFileSync(fileURLToPath(made.uri), 'utf8'), /func x\(\) \{\}/)
  const shown = await e.until('the buffer shown', () => e.asked('window/showDocument').find(r => r.params.uri === made.uri))
  assert.ok(shown)
}))

test('undo takes back what a run wrote', world({ options: { approval: { default: 'allow' } } }, async e => {
  const r = await e.ask(`call write_file ${JSON.stringify({ path: 'made.txt', content: 'made\n' })}`)
  assert.deepEqual(r.changed.map(c => [c.uri, c.saved]), [[e.uri('made.txt'), true]])
  assert.equal(fs.readFileSync(fileURLToPath(e.uri('made.txt')), 'utf8'), 'made\n')
  const undone = await e.command('agentls.undo', r.runId)
  assert.deepEqual(undone.restored, [e.uri('made.txt')])
  assert.ok(!fs.existsSync(fileURLToPath(e.uri('made.txt'))))
  const twice = await e.command('agentls.undo', { runId: r.runId })
  assert.match(twice.refused[0].reason, /restored already/)
}))
