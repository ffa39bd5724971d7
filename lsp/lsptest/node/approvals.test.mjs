import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fails, lsp, world } from './client.mjs'

const asks = { options: { approval: { ask: ['fake/echo'] } } }
const prompt = 'call mcp__fake__echo {"text":"pong"}'

test('a stock client is asked, the safe action first; an exact title decides', world(asks, async e => {
  await e.ready()
  const say = ['Allow once', 'Deny', 'allow once', null]
  e.answers.set('window/showMessageRequest', params => {
    assert.equal(params.type, lsp.MessageType.Error)
    assert.deepEqual(params.actions.map(a => a.title), ['Deny', 'Allow once', 'Allow for this session', 'Always allow'])
    assert.match(params.message, /fake.*echo.*pong/)
    assert.doesNotMatch(params.message, /\n/)
    const title = say.shift()
    return title && { title }
  })
  const outcomes = []
  for (let i = 0; i < 4; i++) outcomes.push(await e.ask(prompt))
  assert.deepEqual(outcomes.map(r => r.toolCalls[0].status), ['completed', 'rejected', 'rejected', 'rejected'])
  assert.match(outcomes[1].text, /denied by the user/)
  assert.match(outcomes[3].text, /dismissed/)
  assert.deepEqual(await e.command('agentls.approvals'), [])
  e.answers.set('window/showMessageRequest', () => ({ title: 'Allow for this session' }))
  await e.ask({ prompt, session: 's' })
  const asked = e.asked('window/showMessageRequest').length
  assert.equal((await e.ask({ prompt, session: 's' })).toolCalls[0].status, 'completed')
  assert.equal(e.asked('window/showMessageRequest').length, asked, 'a session that was allowed is not asked again')
}))

test('a client that cannot ask leaves the question open for a command', world(asks, async e => {
  await e.ready()
  e.answers.set('window/showMessageRequest', () => { throw new lsp.ResponseError(lsp.ErrorCodes.MethodNotFound, 'no such method') })
  const run = e.ask({ prompt, runId: 'r' })
  const [question] = await e.poll('the question', async () => { const all = await e.command('agentls.approvals'); return all.length && all })
  assert.deepEqual([question.kind, question.runId, question.server, question.tool, question.arguments], ['tool', 'r', 'fake', 'echo', { text: 'pong' }])
  assert.ok(Date.parse(question.deadline) > Date.now())
  assert.equal((await e.command('agentls.runs'))[0].status, 'waiting')
  assert.deepEqual(await e.command('agentls.approve', { id: question.id, decision: 'deny', reason: 'not today' }), { resolved: true })
  assert.match((await run).text, /not today/)
  assert.deepEqual(await e.command('agentls.approve', { id: question.id, decision: 'once' }), { resolved: false })
}))

test('a client with approvals is asked by agentls/approve, and may edit the arguments', world({ ...asks, features: ['approvals'] }, async e => {
  await e.ready()
  e.answers.set('agentls/approve', params => {
    assert.deepEqual([params.kind, params.runId, params.session, params.server, params.tool, params.definitionChanged], ['tool', 'r', 's', 'fake', 'echo', false])
    assert.ok(params.id && params.reason && params.description)
    return { decision: 'once', arguments: { text: 'edited' } }
  })
  const r = await e.ask({ prompt, runId: 'r', session: 's' })
  assert.match(r.text, /edited/)
  assert.deepEqual(e.asked('window/showMessageRequest'), [])
  const [line] = await e.command('agentls.audit', { runId: 'r' })
  assert.deepEqual([line.tool, line.server, line.outcome, line.decidedBy], ['echo', 'fake', 'completed', 'user'])
  assert.match(JSON.stringify(line.arguments), /edited/)
}))

test('a cancel closes the questions of its run', world(asks, async e => {
  await e.ready()
  e.answers.set('window/showMessageRequest', (_, record) => e.until('the withdrawal', () => record.cancelled && { title: 'Always allow' }))
  const run = fails(e.ask({ prompt, runId: 'r' }), lsp.LSPErrorCodes.RequestCancelled)
  await e.until('the question', () => e.asked('window/showMessageRequest')[0])
  await e.command('agentls.cancel', 'r')
  await run
  assert.deepEqual(await e.command('agentls.approvals'), [])
  await e.until('the withdrawal', () => e.asked('window/showMessageRequest')[0].cancelled)
}))

test('a denial by a rule asks nobody', world({ options: { approval: { deny: ['fake/echo'] } } }, async e => {
  await e.ready()
  const r = await e.ask(prompt)
  assert.equal(r.toolCalls[0].status, 'denied')
  assert.deepEqual(e.asked('window/showMessageRequest'), [])
}))

test('a project\'s server waits for trust, and the fingerprint must be the file\'s', world({
  files: { '.mcp.json': JSON.stringify({ mcpServers: { mine: { command: 'sh', args: ['-c', 'exit 3'] } } }) },
}, async e => {
  e.answers.set('window/showMessageRequest', () => null)
  const info = await e.poll('the server', async () => (await e.command('agentls.mcp.servers')).find(s => s.name === 'mine'))
  assert.equal(info.status, 'untrusted')
  assert.equal(info.trusted, false)
  assert.deepEqual([info.command, info.args], ['sh', ['-c', 'exit 3']])
  await fails(e.command('agentls.mcp.trust', { server: 'mine', trust: true, fingerprint: 'other' }), lsp.ErrorCodes.InvalidParams)
  await e.command('agentls.mcp.trust', { server: 'mine', trust: true, fingerprint: info.fingerprint })
  await e.poll('its start', async () => (await e.command('agentls.mcp.servers')).find(s => s.name === 'mine').status !== 'untrusted')
}))
