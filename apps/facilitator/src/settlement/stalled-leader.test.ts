import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type SettleResult } from '@tollgate/protocol'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { newPayer, newSigner, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { type CrashOrder, type Step } from '../testing/crashing'
import { newClient, testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { faulty } from '../testing/faulty'
import { AMOUNT, inSeconds, paymentRequest, type PaymentRequest } from '../testing/payment'
import { startTcpProxy } from '../testing/tcp-proxy'

const rpcUrl = sharedChain()
const testing = join(__dirname, '../testing')
const PATIENCE_MS = 90_000

afterAll(closeAll)

async function until<T>(read: () => T | Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const value = await read()
    if (isSo(value)) return value
    if (performance.now() > deadline)
      throw new Error(`Not so within ${PATIENCE_MS} ms: ${JSON.stringify(value)}`)
    await delay(20)
  }
}

const ask = async ({ api }: TestFacilitator, client: ClientHeaders, body: PaymentRequest) => {
  const answer = await api.post('/api/v1/settle').set(client).send(body)
  return answer.body as SettleResult
}

/** Asks until the outcome is known. */
const settled = (on: TestFacilitator, client: ClientHeaders, body: PaymentRequest) =>
  until(
    () => ask(on, client, body),
    ({ errorReason }) => errorReason !== 'settlement_pending',
  )

/** Runs a facilitator that is asked to settle one payment and stops itself on the way; resolves once it is stopped. */
async function settleAndStop(order: CrashOrder) {
  const program = ['--require', join(testing, 'typescript.cjs'), join(testing, 'crashing.ts')]
  const env = { ...process.env, CRASH_ORDER: JSON.stringify({ ...order, signal: 'SIGSTOP' }) }
  let output = ''
  const child = execFile(process.execPath, program, { env })
  closeLater(() => child.kill('SIGKILL'))
  child.stdout?.on('data', (text: string) => (output += text))
  child.stderr?.on('data', (text: string) => (output += text))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  // Its first line may still be in the pipe when it is stopped.
  await until(
    () => ({ state: /\) (\w)/.exec(readFileSync(`/proc/${child.pid}/stat`, 'utf8'))?.[1], output }),
    ({ state, output }) => state === 'T' && output.includes('\n'),
  )
  return {
    client: JSON.parse(output) as ClientHeaders,
    /** Lets it go on, and resolves to what it answered in the end. */
    async wake(): Promise<SettleResult> {
      child.kill('SIGCONT')
      await ended
      return JSON.parse(output.split('\n')[1] ?? '') as SettleResult
    },
  }
}

describe('the leader of a signer that is stopped in the middle of a settlement', () => {
  test.concurrent.each<[Step, string]>([
    ['signed', 'within the transaction that would store what it signed'],
    ['stored', 'with its lock, between storing the transaction and sending it'],
    ['sent', 'with its lock, between sending the transaction and its receipt'],
  ])(
    '%s: %s, loses the signer to another replica, and once it continues, sends nothing else and reports no second success',
    async (step) => {
      const [signer, payer, databaseUrl] = await Promise.all([
        newSigner(rpcUrl),
        newPayer(rpcUrl),
        migratedDatabase('facilitator'),
      ])
      const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(300) } })
      const signerKey = signer.privateKey
      const stopped = await settleAndStop({ step, rpcUrl, signerKey, databaseUrl, body })
      const other = await testFacilitator({ signerKeys: [signerKey], databaseUrl })
      const result = await settled(other, stopped.client, body)
      expect(result).toMatchObject({ success: true, payer: payer.address })

      expect(await stopped.wake()).toMatchObject({
        success: false,
        errorReason: 'duplicate_settlement',
        transaction: '',
      })
      const transfers = await transfersFrom(rpcUrl, payer.address)
      expect(transfers.map(({ value, transaction }) => [value, transaction])).toEqual([
        [AMOUNT, result.transaction],
      ])
      expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
      const { rows } = await other.database.pool.query('SELECT hash, nonce FROM transactions')
      expect(rows).toEqual([{ hash: result.transaction, nonce: 0n }])
    },
    200_000,
  )
})

test('success is reported once where the connection to Postgres of one of two waiting requests is paused', async () => {
  let go: () => void = () => undefined
  let mayBroadcast = Promise.resolve()
  const families = faulty((chain) => ({
    node: {
      async broadcast(transaction) {
        await mayBroadcast
        await chain.node.broadcast(transaction)
      },
    },
  }))
  const other = await testFacilitator({ families })
  const postgres = await startTcpProxy(other.databaseUrl)
  const client = await newClient(other.api)
  expect(await ask(other, client, await paymentRequest(await newPayer(rpcUrl)))).toMatchObject({
    success: true,
  })
  const { signerKeys } = other.settings
  const stalled = await testFacilitator({ signerKeys, databaseUrl: postgres.url })
  const body = await paymentRequest(await newPayer(rpcUrl))

  mayBroadcast = new Promise((resolve) => (go = resolve))
  const late = ask(stalled, client, body)
  const signed = "SELECT FROM settlements WHERE status = 'signed'"
  await until(
    async () => (await other.database.pool.query(signed)).rowCount,
    (count) => count === 1,
  )
  // It waits for the outcome, which it cannot learn now.
  postgres.become('silent')
  go()
  expect(await settled(other, client, body)).toMatchObject({ success: true })
  postgres.become('open')
  expect(await late).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
}, 60_000)
