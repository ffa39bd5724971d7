import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fails, lsp, world } from './client.mjs'

const CANCELLED = lsp.LSPErrorCodes.RequestCancelled

/** checkProgress: begin, reports, end; cancellable, never a percentage. */
function checkProgress(values, last) {
  assert.equal(values[0].kind, 'begin')
  assert.equal(values[0].cancellable, true)
  assert.ok(values[0].title)
  assert.equal(values.at(-1).kind, 'end')
  assert.ok(values.slice(1, -1).every(v => v.kind === 'report'))
  assert.ok(values.every(v => v.percentage === undefined))
  if (last) assert.match(values.at(-1).message, last)
}

/** checkEvents: numbered from 1 without a gap, finished the last. */
function checkEvents(events, kinds) {
  assert.deepEqual(events.map(e => e.seq), events.map((_, i) => i + 1))
  assert.deepEqual(events.map(e => e.kind).filter((k, i, all) => k !== all[i - 1]), kinds)
}

test('progress under the token of the request', world({}, async e => {
  const r = await e.ask('hello', { workDoneToken: 'mine' })
  assert.equal(r.status, 'completed')
  checkProgress(e.progress.get('mine'))
  assert.deepEqual(e.asked('window/workDoneProgress/create'), [])
}))

test('progress under a token that the server makes', world({}, async e => {
  await e.ask('hello')
  const [{ params }] = e.asked('window/workDoneProgress/create')
  checkProgress(e.progress.get(params.token))
}))

test('run events in their order', world({ features: ['runEvents'] }, async e => {
  await e.ready()
  await e.ask({ prompt: 'call mcp__fake__echo {"text":"pong"}', runId: 'r' })
  checkEvents(e.events('r'), ['queued', 'started', 'toolCall', 'text', 'finished'].filter(k => e.events('r').some(x => x.kind === k)))
  const states = e.events('r').filter(x => x.kind === 'toolCall').map(x => x.toolCall.state)
  assert.deepEqual([states[0], states.at(-1)], ['pending', 'completed'])
  const text = e.events('r').filter(x => x.kind === 'text').map(x => x.delta).join('')
  assert.match(text, /the tool said: .*pong/)
  assert.equal(e.events('r').at(-1).kind, 'finished')
}))

test('a stock client gets no run events', world({}, async e => {
  await e.ask('hello')
  assert.deepEqual(e.told('agentls/runEvent'), [])
}))

for (const [name, cancel] of Object.entries({
  '$/cancelRequest': async (e, source) => source.cancel(),
  'window/workDoneProgress/cancel': async e => e.notify(lsp.WorkDoneProgressCancelNotification.type, { token: 't' }),
  'agentls.cancel': async e => assert.deepEqual(await e.command('agentls.cancel', 'r'), { cancelled: ['r'] }),
  'agentls.cancel of all': async e => assert.deepEqual(await e.command('agentls.cancel'), { cancelled: ['r'] }),
})) {
  test(`cancel by ${name}`, world({ features: ['runEvents'] }, async e => {
    const source = new lsp.CancellationTokenSource()
    const run = fails(e.ask({ prompt: 'stream on', runId: 'r', session: 's' }, { workDoneToken: 't' }, source.token), CANCELLED)
    await e.until('words', () => e.events('r').some(x => x.kind === 'text'))
    await cancel(e, source)
    const error = await run
    assert.deepEqual(error.data, { runId: 'r', session: 's' })
    checkProgress(e.progress.get('t'), /cancelled/)
    const { kind, status } = e.events('r').at(-1)
    assert.deepEqual([kind, status], ['finished', 'cancelled'])
    assert.equal((await e.ask({ prompt: 'hello', session: 's' })).status, 'completed')
  }))
}

test('a queued run waits, can be steered and cancelled', world({ features: ['runEvents'] }, async e => {
  const first = fails(e.ask({ prompt: 'stream on', runId: 'a', session: 's' }), CANCELLED)
  const second = e.ask({ prompt: 'repeat this', runId: 'b', session: 's' })
  const third = fails(e.ask({ prompt: 'never', runId: 'c', session: 's' }), CANCELLED)
  assert.deepEqual((await e.command('agentls.steer', { runId: 'b', text: 'and that' })).accepted, true)
  assert.deepEqual(await e.command('agentls.cancel', 'c'), { cancelled: ['c'] })
  await third
  checkEvents(e.events('c'), ['queued', 'finished'])
  await e.command('agentls.cancel', 'a')
  await first
  const r = await second
  assert.match(r.text, /repeat this\s+and that/)
  assert.equal((await e.command('agentls.steer', { runId: 'b', text: 'late' })).accepted, false)
}))

test('detached: the answer at once, the end under the server\'s token', world({}, async e => {
  const started = await e.ask({ prompt: 'hello', detached: true, runId: 'r' })
  assert.equal(started.runId, 'r')
  assert.match(started.status, /queued|running/)
  assert.equal(started.text, undefined)
  const create = await e.until('a token', () => e.asked('window/workDoneProgress/create')[0])
  await e.until('the end', () => e.progress.get(create.params.token)?.at(-1).kind === 'end')
  checkProgress(e.progress.get(create.params.token), /Hello from the model/)
}))

for (const name of ['helix', 'Eglot', null]) {
  test(`detached by itself: ${name ?? 'a client without a name'}`, world({ name }, async e => {
    assert.equal((await e.ask('hello')).text, undefined)
    assert.equal((await e.ask('hello', { workDoneToken: 1 })).text, 'Hello from the model.')
    assert.equal((await e.ask({ prompt: 'hello', detached: false })).text, 'Hello from the model.')
  }))
}

test('a provider that refuses the key is a failure that says so', world({}, async e => {
  const error = await fails(e.ask({ prompt: 'unauthorized', runId: 'r', session: 's' }), lsp.LSPErrorCodes.RequestFailed)
  assert.deepEqual(error.data, { runId: 'r', session: 's', kind: 'auth', retryable: false })
  assert.doesNotMatch(error.message, /sk-script-secret/)
}))

test('a mention is expanded, and what the user did not type is none', world({}, async e => {
  await e.ready()
  const r = await e.ask('repeat @fake:docs://doc1.md, not me@fake:docs://doc0.md nor `@fake:docs://doc2.md`')
  assert.deepEqual(r.mentions.map(m => [m.server, m.uri, m.status]).filter(m => m[2] === 'expanded'), [['fake', 'docs://doc1.md', 'expanded']])
  assert.match(r.text, /<resource server="fake" uri="docs:\/\/doc1\.md" mimeType="text\/markdown">/)
  assert.match(r.text, /# Content of docs:\/\/doc1\.md v0/)
  assert.doesNotMatch(r.text, /Content of docs:\/\/doc[02]/)
  const failed = await e.ask('repeat @fake:docs://nosuch.md')
  assert.equal(failed.mentions[0].status, 'failed')
  assert.match(failed.text, /<resource_error/)
}))

test('with no provider at all the offline one answers, and says how to change that', world({ offline: true }, async e => {
  const r = await e.ask('hello')
  assert.equal(r.status, 'completed')
  assert.match(r.text, /not a language model/i)
}))
