import { closeAll, eventually, startWebhookReceiver, type ReceivedWebhook } from '@tollgate/testing'
import { Webhook } from 'standardwebhooks'
import { createDeliveryStore } from './delivery-store'
import { openWorkerWorld, type WorkerWorld } from './testing/worker-world'

let world: WorkerWorld
beforeAll(async () => {
  world = await openWorkerWorld()
})
/** What a test leaves pending is nothing for the replicas of the next one. */
afterEach(() => world.pool.query('UPDATE webhook_endpoints SET active = false'))
afterAll(closeAll)

const allEnded = (deliveries: { state: string }[]) => deliveries.every(({ state }) => state !== 'pending')
const numberOf = ({ text }: ReceivedWebhook) => (JSON.parse(text) as { data: { n: number } }).data.n
const headersOf = ({ headers }: ReceivedWebhook) => headers as Record<string, string>

describe('a delivery', () => {
  test('is signed, and the public library verifies it', async () => {
    const receiver = await startWebhookReceiver()
    const { owner, secret, deliveries } = await world.newEndpoint(receiver.url)
    const replica = world.startReplica()
    await world.emit(owner, 'one', 'thing.changed', { amount: '10000', text: 'é ✓ "quoted"' })
    const [received] = await receiver.until(1)
    const body = new Webhook(secret).verify(received!.text, headersOf(received!)) as object
    expect(body).toEqual({
      type: 'thing.changed',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      data: { subject: 'one', amount: '10000', text: 'é ✓ "quoted"' },
    })
    expect(() =>
      new Webhook('whsec_AAAAAAAAAAAAAAAAAAAAAA==').verify(received!.text, headersOf(received!)),
    ).toThrow()
    const [delivery] = await eventually(deliveries, allEnded)
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, lastStatus: 204, lastError: null })
    expect(received!.id).toBe(delivery!.messageId)
    expect(await replica.scrape()).toContain('tollgate_webhook_deliveries_total{outcome="delivered"} 1')
    await replica.close()
  })

  test('is repeated with the same id and bytes until the receiver is up again, in the order of its subject', async () => {
    const receiver = await startWebhookReceiver()
    const { id, owner, secret, deliveries } = await world.newEndpoint(receiver.url)
    await receiver.stop()
    const replica = world.startReplica()
    for (const n of [1, 2, 3]) for (const subject of ['a', 'b']) await world.emit(owner, subject, 'x', { n })
    await eventually(deliveries, (all) =>
      all.some(({ lastError }) => lastError?.includes('ECONNREFUSED') === true),
    )

    const seen: ReceivedWebhook[] = []
    receiver.respond((res, one) => {
      seen.push(one)
      res.writeHead(seen.length === 1 ? 503 : 200).end()
    })
    await receiver.listen()
    const ended = await eventually(async () => {
      await world.makeDue(id)
      return deliveries()
    }, allEnded)
    expect(ended.every(({ state }) => state === 'delivered')).toBe(true)
    for (const subject of ['a', 'b']) {
      const numbers = seen.filter((one) => one.subject === subject).map(numberOf)
      expect(numbers.filter((number, at) => number !== numbers[at - 1])).toEqual([1, 2, 3])
    }
    const repeated = seen.filter((one) => one.id === seen[0]!.id)
    expect(repeated).toHaveLength(2)
    expect(repeated[1]!.text).toBe(repeated[0]!.text)
    for (const one of seen) new Webhook(secret).verify(one.text, headersOf(one))
    await replica.close()
  })

  test('that is refused again and again does not hold back other subjects', async () => {
    const receiver = await startWebhookReceiver(
      (res, { subject }) => void res.writeHead(subject === 'bad' ? 500 : 200).end(),
    )
    const { id, owner, deliveries } = await world.newEndpoint(receiver.url)
    const replica = world.startReplica()
    await world.emit(owner, 'bad')
    await world.emit(owner, 'bad')
    for (let n = 0; n < 10; n++) await world.emit(owner, `good ${n}`)
    const others = await eventually(async () => {
      await world.makeDue(id)
      return (await deliveries()).filter(({ subject }) => subject !== 'bad')
    }, allEnded)
    expect(others.map(({ state }) => state)).toEqual(Array(10).fill('delivered'))
    const [second, first] = (await deliveries()).filter(({ subject }) => subject === 'bad')
    expect([first?.state, second?.state, second?.attempts]).toEqual(['pending', 'pending', 0])
    await replica.close()
  })

  test('that is answered with 410 Gone switches the endpoint off, until its owner switches it on', async () => {
    const receiver = await startWebhookReceiver((res) => void res.writeHead(410).end())
    const { id, owner, deliveries } = await world.newEndpoint(receiver.url)
    for (const subject of ['one', 'two', 'three', 'four', 'five']) await world.emit(owner, subject)
    const replica = world.startReplica()
    const find = () => world.endpoints.find(owner, id)
    expect(await eventually(find, (endpoint) => endpoint?.active === false)).toMatchObject({
      disabledReason: 'the endpoint answered 410 Gone',
    })
    await world.emit(owner, 'six')
    // An attempt that is still on its way would be answered 410, and switch the endpoint off again.
    const ended = await eventually(deliveries, (rows) =>
      rows.every(({ attempts, lastStatus }) => attempts === 0 || lastStatus === 410),
    )
    expect(ended).toHaveLength(5)

    receiver.respond((res) => void res.writeHead(204).end())
    const enabled = await world.endpoints.update(owner, id, { active: true })
    expect(enabled).toMatchObject({ active: true, disabledReason: null })
    await eventually(async () => {
      await world.makeDue(id)
      return deliveries()
    }, allEnded)
    await replica.close()
  })

  test('that cannot be signed is a failed attempt, with a pause', async () => {
    const receiver = await startWebhookReceiver()
    const { id, owner, deliveries } = await world.newEndpoint(receiver.url)
    await world.pool.query(`UPDATE webhook_endpoints SET secret = '' WHERE id = $1`, [id])
    await world.emit(owner, 'one')
    const replica = world.startReplica()
    const [delivery] = await eventually(deliveries, ([first]) => first?.lastError !== null)
    expect(delivery).toMatchObject({ state: 'pending', attempts: 1, lastError: 'the request failed' })
    expect(delivery!.nextAttemptAt!.getTime()).toBeGreaterThan(delivery!.createdAt.getTime() + 4_000)
    await replica.close()
  })

  test('is given up after three days, and later events of its subject go on', async () => {
    const receiver = await startWebhookReceiver(
      (res, one) => void res.writeHead(numberOf(one) === 1 ? 500 : 200).end(),
    )
    const { owner, deliveries } = await world.newEndpoint(receiver.url)
    for (const n of [1, 2]) await world.emit(owner, 'one', 'x', { n })
    const [, first] = await deliveries()
    const text = `UPDATE webhook_deliveries SET started_at = now() - interval '3 days' WHERE id = $1`
    await world.pool.query(text, [first!.id])
    const replica = world.startReplica()
    const ended = await eventually(deliveries, allEnded)
    expect(ended.map(({ state }) => state)).toEqual(['delivered', 'failed'])
    expect(ended[1]).toMatchObject({ lastStatus: 500, attempts: 1, nextAttemptAt: null })
    await replica.close()
  })
})

describe('an endpoint', () => {
  test('that is slow does not delay another', async () => {
    const held: (() => void)[] = []
    const slow = await startWebhookReceiver((res) => void held.push(() => res.end()))
    const fast = await startWebhookReceiver()
    const owner = 'owner of both'
    const [one, other] = [
      await world.newEndpoint(slow.url, { owner }),
      await world.newEndpoint(fast.url, { owner }),
    ]
    for (let n = 0; n < 100; n++) await world.emit(owner, `subject ${n}`)
    const replica = world.startReplica()
    const ended = await eventually(other.deliveries, allEnded)
    expect(ended).toHaveLength(100)
    expect((await one.deliveries()).map(({ state }) => state)).toEqual(Array(100).fill('pending'))
    expect(slow.received.length).toBeLessThanOrEqual(4)
    slow.respond((res) => void res.end())
    for (const release of held) release()
    await eventually(one.deliveries, allEnded)
    await replica.close()
  })

  test('that fails is not hammered: one attempt at a time, with pauses', async () => {
    const receiver = await startWebhookReceiver((res) => void res.writeHead(500).end())
    const { owner, id } = await world.newEndpoint(receiver.url)
    for (let n = 0; n < 50; n++) await world.emit(owner, `subject ${n}`)
    const replica = world.startReplica()
    const state = async () => {
      const text = `SELECT failures, retry_at > now() AS paused, extract(epoch FROM retry_at - failing_since)::float8 AS seconds
        FROM webhook_endpoints WHERE id = $1`
      return (await world.pool.query<{ failures: number; paused: boolean; seconds: number }>(text, [id]))
        .rows[0]!
    }
    const failed = await eventually(state, ({ failures }) => failures >= 3)
    expect(failed.seconds).toBeGreaterThan(4)
    // Four before the first failure was known, then one after each pause.
    expect(receiver.received.length).toBeLessThanOrEqual(8)
    await replica.close()
  })

  test('that is inactive gets nothing new, and what is pending once it is active', async () => {
    const receiver = await startWebhookReceiver()
    const { owner, id, deliveries } = await world.newEndpoint(receiver.url)
    await world.emit(owner, 'before')
    await world.endpoints.update(owner, id, { active: false })
    await world.emit(owner, 'while')
    const replica = world.startReplica()
    const other = await world.newEndpoint(receiver.url)
    await world.emit(other.owner, 'other')
    await receiver.until(1)
    expect((await deliveries()).map(({ state, subject }) => [subject, state])).toEqual([
      ['before', 'pending'],
    ])
    await world.endpoints.update(owner, id, { active: true })
    await eventually(deliveries, allEnded)
    expect(receiver.received.map(({ subject }) => subject)).toEqual(['other', 'before'])
    await replica.close()
  })

  test('gets the types that it asked for', async () => {
    const receiver = await startWebhookReceiver()
    const { owner } = await world.newEndpoint(receiver.url, { events: ['thing.made'] })
    await world.emit(owner, 'one', 'thing.changed')
    await world.emit(owner, 'two', 'thing.made')
    const replica = world.startReplica()
    await receiver.until(1)
    expect(receiver.received.map(({ subject }) => subject)).toEqual(['two'])
    await replica.close()
  })

  test('whose secret is rotated gets both signatures for a day, then the new one only', async () => {
    const receiver = await startWebhookReceiver()
    const { owner, id, secret } = await world.newEndpoint(receiver.url)
    const rotated = await world.endpoints.rotateSecret(owner, id)
    const replica = world.startReplica()
    const rotatedBefore = (hours: number) =>
      world.pool.query(
        'UPDATE webhook_endpoints SET secret_rotated_at = now() - make_interval(hours => $1) WHERE id = $2',
        [hours, id],
      )
    const sentAt: [hours: number, signatures: number][] = [
      [0, 2],
      [23, 2],
      [25, 1],
    ]
    for (const [index, [hours, signatures]] of sentAt.entries()) {
      await rotatedBefore(hours)
      await world.emit(owner, `${hours}`)
      const received = (await receiver.until(index + 1)).at(-1)!
      expect(headersOf(received)['webhook-signature']?.split(' ')).toHaveLength(signatures)
      new Webhook(rotated!.secret).verify(received.text, headersOf(received))
      const verifyOld = () => new Webhook(secret).verify(received.text, headersOf(received))
      if (signatures === 2) verifyOld()
      else expect(verifyOld).toThrow()
    }
    await replica.close()
  })

  test('whose secret is rotated twice in a day is signed for with the two newest secrets', async () => {
    const receiver = await startWebhookReceiver()
    const { owner, id, secret } = await world.newEndpoint(receiver.url)
    const second = await world.endpoints.rotateSecret(owner, id)
    const third = await world.endpoints.rotateSecret(owner, id)
    const replica = world.startReplica()
    await world.emit(owner, 'one')
    const [received] = await receiver.until(1)
    for (const key of [second, third]) new Webhook(key!.secret).verify(received!.text, headersOf(received!))
    expect(() => new Webhook(secret).verify(received!.text, headersOf(received!))).toThrow()
    await replica.close()
  })

  test('loses its old secret a day after the rotation', async () => {
    const store = createDeliveryStore(world.pool, [])
    const { owner, id, secret } = await world.newEndpoint('https://shop.example/hooks')
    await world.endpoints.rotateSecret(owner, id)
    const kept = async () => {
      await store.forgetPreviousSecrets()
      const text = 'SELECT previous_secret FROM webhook_endpoints WHERE id = $1'
      return (await world.pool.query<{ previous_secret: string | null }>(text, [id])).rows[0]?.previous_secret
    }
    expect(await kept()).toBe(secret)
    await world.pool.query(
      `UPDATE webhook_endpoints SET secret_rotated_at = now() - interval '25 hours' WHERE id = $1`,
      [id],
    )
    expect(await kept()).toBeNull()
  })
})

describe('replicas', () => {
  test('share the deliveries: each is sent once, and of a subject only one at a time, in order', async () => {
    const open = new Set<string>()
    const overlaps: string[] = []
    const receiver = await startWebhookReceiver((res, { subject }) => {
      if (open.has(subject)) overlaps.push(subject)
      open.add(subject)
      setTimeout(() => {
        open.delete(subject)
        res.writeHead(200).end()
      }, 5)
    })
    const { owner, deliveries } = await world.newEndpoint(receiver.url)
    for (let s = 0; s < 10; s++)
      for (let n = 0; n < 20; n++) await world.emit(owner, `subject ${s}`, 'x', { n })
    const replicas = Array.from({ length: 3 }, () => world.startReplica())
    await eventually(deliveries, allEnded)
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(200)
    expect(receiver.received).toHaveLength(200)
    expect(overlaps).toEqual([])
    for (let s = 0; s < 10; s++) {
      const numbers = receiver.received.filter(({ subject }) => subject === `subject ${s}`).map(numberOf)
      expect(numbers).toEqual(Array.from({ length: 20 }, (_, n) => n))
    }
    for (const replica of replicas) await replica.close()
  })

  test('send again what one claimed before it died, once its lease has ended', async () => {
    const receiver = await startWebhookReceiver()
    const { owner, id, deliveries } = await world.newEndpoint(receiver.url)
    await world.emit(owner, 'one')
    const dead = createDeliveryStore(world.pool, [])
    const [claimed] = await dead.claim(10)
    expect(claimed).toMatchObject({ endpointId: id, attempt: 1 })
    expect(await dead.claim(10)).toEqual([])
    await world.pool.query(
      `UPDATE webhook_deliveries SET next_attempt_at = now(), leased_until = now() WHERE endpoint_id = $1`,
      [id],
    )
    const replica = world.startReplica()
    await eventually(deliveries, allEnded)
    // What the dead one finds out too late changes nothing.
    await dead.recordFailure(claimed!, { status: 500, error: 'late', durationMs: 1 }, 1_000)
    expect(await deliveries()).toMatchObject([{ state: 'delivered', attempts: 2, lastStatus: 204 }])
    await replica.close()
  })

  test('send nothing of a claim that took longer than five seconds, and claim it again', async () => {
    const receiver = await startWebhookReceiver()
    const { owner, deliveries } = await world.newEndpoint(receiver.url)
    await world.emit(owner, 'one')
    const session = await world.pool.connect()
    await session.query('BEGIN')
    await session.query('LOCK TABLE webhook_deliveries IN SHARE MODE')
    const replica = world.startReplica()
    await session.query('SELECT pg_sleep(6)')
    await session.query('COMMIT')
    session.release()
    await eventually(deliveries, allEnded)
    expect(await deliveries()).toMatchObject([{ state: 'delivered', attempts: 2 }])
    expect(receiver.received).toHaveLength(1)
    await replica.close()
  })

  test('release at a shutdown what the receiver does not answer', async () => {
    const receiver = await startWebhookReceiver(() => undefined)
    const { owner, deliveries } = await world.newEndpoint(receiver.url)
    await world.emit(owner, 'one')
    const replica = world.startReplica()
    await receiver.until(1)
    await replica.close()
    const [delivery] = await deliveries()
    expect(delivery).toMatchObject({ state: 'pending', attempts: 1, lastError: null })
    expect(delivery!.nextAttemptAt!.getTime()).toBeLessThanOrEqual(Date.now() + 1_000)
  })
})

test('a replay sends it again under the same id, and the log keeps all attempts', async () => {
  const receiver = await startWebhookReceiver()
  const { owner, id, deliveries } = await world.newEndpoint(receiver.url)
  const replica = world.startReplica()
  for (const subject of ['one', 'two', 'three']) await world.emit(owner, subject)
  const ended = await eventually(deliveries, (all) => all.length === 3 && allEnded(all))
  const first = ended.at(-1)!
  await world.endpoints.replay(owner, id, first.id)
  await receiver.until(4)
  await eventually(deliveries, allEnded)
  expect(receiver.received.filter((one) => one.id === first.messageId)).toHaveLength(2)
  expect((await world.endpoints.findDelivery(owner, id, first.id))?.log).toHaveLength(2)

  const range = { from: first.createdAt, to: new Date(Date.now() + 60_000), state: null }
  expect(await world.endpoints.replayRange(owner, id, { ...range, state: 'failed' })).toMatchObject({
    replayed: 0,
  })
  expect(await world.endpoints.replayRange(owner, id, range)).toMatchObject({ replayed: 3 })
  await receiver.until(7)
  await replica.close()
})
