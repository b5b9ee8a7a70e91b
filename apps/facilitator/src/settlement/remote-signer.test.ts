import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { publicPoint, type RemoteSignerSettings } from '@tollgate/chains'
import { hexOf, startWeb3Signer, type Web3Signer } from '@tollgate/devnet'
import { withTransaction } from '@tollgate/database'
import { type SettleResult } from '@tollgate/protocol'
import { closeAll, closeLater, eventually, migratedDatabase, readableLog } from '@tollgate/testing'
import { computeAddress, keccak256, SigningKey, Transaction } from 'ethers'
import { newAccount } from '../testing/accounts'
import { callRpc, newPayer, newSigner, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { type CrashOrder } from '../testing/crashing'
import { testFacilitator, type ClientHeaders, type TestOptions } from '../testing/facilitator'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, inSeconds, paymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()

afterAll(closeAll)

/** A funded account whose key only a server with the API of Web3Signer holds. */
async function newRemoteSigner(chainUrl = rpcUrl) {
  const wallet = await newSigner(chainUrl)
  const server = await startWeb3Signer({ privateKeys: [wallet.privateKey] })
  closeLater(() => server.stop())
  return { server, address: wallet.address, remoteSigners: settingsOf(server) }
}

const settingsOf = ({ url, publicKeys }: Web3Signer, timeoutMs = 5_000): RemoteSignerSettings => ({
  url,
  publicPoints: publicKeys.map((key) => publicPoint(key) ?? ''),
  timeoutMs,
})

async function withRemoteSigner(options: TestOptions = {}) {
  const { server, address, remoteSigners } = await newRemoteSigner()
  const log = readableLog()
  const on = await facilitatorWithClient({
    remoteSigners,
    log: log.stream,
    variables: { SETTLE_TIMEOUT_SECONDS: '60' },
    ...options,
  })
  return { ...on, server, address, log }
}

const noncesOf = async (
  { facilitator }: { facilitator: Pick<Awaited<ReturnType<typeof testFacilitator>>, 'database'> },
  address: string,
) => {
  const { rows } = await facilitator.database.pool.query<{ nonce: bigint }>(
    'SELECT nonce FROM transactions WHERE signer = $1 ORDER BY nonce',
    [address],
  )
  return rows.map(({ nonce }) => Number(nonce))
}

const range = (length: number) => Array.from({ length }, (_, index) => index)

test('settles a burst of payments through the remote signer, each once and without a gap in the nonces', async () => {
  const on = await withRemoteSigner()
  const payers = await Promise.all(range(40).map(() => newPayer(rpcUrl)))
  const results = await Promise.all(payers.map(async (payer) => on.settle(await paymentRequest(payer))))
  expect(results.filter(({ success }) => success)).toHaveLength(40)
  for (const payer of payers)
    expect((await transfersFrom(rpcUrl, payer.address)).map(({ value }) => value)).toEqual([AMOUNT])
  const nonces = await noncesOf(on, on.address)
  expect(nonces).toEqual(range(nonces.length))
  expect(await transactionCount(rpcUrl, on.address)).toBe(nonces.length)
})

const stranger = new SigningKey(`0x${'5e'.repeat(32)}`)
test.each<[string, Parameters<Web3Signer['setFault']>[0], string]>([
  ['refuses', () => ({ status: 500 }), 'refused'],
  ['answers with garbage', () => ({ body: '<html>' }), 'invalid'],
  ['signs with another key', ({ sign }) => ({ body: hexOf(sign(stranger)) }), 'invalid'],
  ['redirects', () => ({ status: 307, headers: { location: 'http://127.0.0.1:9/' } }), 'refused'],
  ['answers with megabytes', () => ({ body: 'f'.repeat(3_000_000) }), 'refused'],
])(
  'a remote signer that %s: nothing is stored or sent, and the payment settles once it signs',
  async (_name, fault, failure) => {
    const on = await withRemoteSigner()
    const payer = await newPayer(rpcUrl)
    on.server.setFault(fault)
    const settling = on.settle(await paymentRequest(payer))
    await on.log.line('claim deferred')
    expect(await on.log.line('remote signature failed')).toMatchObject({ failure, signer: on.address })
    expect(await noncesOf(on, on.address)).toEqual([])
    expect(await transactionCount(rpcUrl, on.address)).toBe(0)
    expect(await on.facilitator.scrape()).toMatch(
      new RegExp(
        `^tollgate_signer_errors_total\\{network="base-sepolia",signer="${on.address}",failure="${failure}"\\} [1-9]`,
        'm',
      ),
    )
    on.server.setFault()
    expect(await settling).toMatchObject({ success: true })
    expect(await noncesOf(on, on.address)).toEqual([0])
    expect((await transfersFrom(rpcUrl, payer.address)).map(({ value }) => value)).toEqual([AMOUNT])
  },
)

test('while the remote signer is silent, another signer of the network settles what waits', async () => {
  const { server, address, remoteSigners } = await newRemoteSigner()
  server.setFault(() => new Promise(() => {}))
  const log = readableLog()
  const on = await facilitatorWithClient({
    signerKeys: [(await newSigner(rpcUrl)).privateKey],
    remoteSigners: { ...remoteSigners, timeoutMs: 500 },
    // With a daily limit both signers need the lock of the network's fees.
    maxFeesPerDay: 10n ** 18n,
    variables: { SETTLE_TIMEOUT_SECONDS: '60' },
    log: log.stream,
  })
  // Until the silent signer has taken a claim, which then goes to the other one.
  do expect(await on.settle(await paymentRequest(await newPayer(rpcUrl)))).toMatchObject({ success: true })
  while (server.signed.length === 0)
  await log.line('remote signature failed')
  const results = await Promise.all(
    range(10).map(async () => on.settle(await paymentRequest(await newPayer(rpcUrl)))),
  )
  expect(results.every(({ success }) => success)).toBe(true)
  expect(await noncesOf(on, address)).toEqual([])
})

test('holds no lock of a payment or of the fees while it waits for a remote signer to come back', async () => {
  const on = await withRemoteSigner({ maxFeesPerDay: 10n ** 18n })
  on.server.setUp(false)
  const settling = on.settle(await paymentRequest(await newPayer(rpcUrl)))
  await on.log.line('remote signature failed')
  // Both are free once the round that failed has ended, although the service is still away.
  await withTransaction(on.pool, async (other) => {
    await other.query(`SET LOCAL lock_timeout = '30s'`)
    const { rowCount } = await other.query('SELECT id FROM settlements FOR UPDATE')
    expect(rowCount).toBe(1)
    await other.query(`SELECT pg_advisory_xact_lock(hashtextextended('fees base-sepolia', 0))`)
  })
  on.server.setUp(true)
  expect(await settling).toMatchObject({ success: true })
})

test('a stuck transaction is replaced through the remote signer, also after it was away', async () => {
  const { server, address, remoteSigners } = await newRemoteSignerOfOwnChain()
  const { mine, until, onTheirWay, settle, rpcUrl: chainUrl, log } = await withManualMining({ remoteSigners })
  await callRpc(chainUrl, 'anvil_setBalance', address, '0x8ac7230489e80000')
  const settling = settle(await paymentRequest(await newPayer(chainUrl)))
  await onTheirWay(1)
  server.setFault(() => ({ status: 500 }))
  await callRpc(chainUrl, 'anvil_setNextBlockBaseFeePerGas', `0x${(50n * 10n ** 9n).toString(16)}`)
  await mine()
  await log.line('remote signature failed')
  server.setFault()
  await until(
    `transactions t WHERE accepted_at IS NOT NULL
       AND (SELECT count(*) FROM transaction_versions v WHERE v.transaction_id = t.id) = 2`,
    1,
  )
  const [first, ...replacements] = server.signed.map((data) => Transaction.from(data))
  expect(new Set([first, ...replacements].map((one) => one?.nonce))).toEqual(new Set([0]))
  await mine()
  expect(await settling).toMatchObject({ success: true })
  expect(await transactionCount(chainUrl, address)).toBe(1)
})

test('a transaction whose batch has payments over their fee share is signed once, with all of its round at once', async () => {
  const { server, address, remoteSigners } = await newRemoteSigner()
  const log = readableLog()
  const on = await facilitatorWithClient({
    remoteSigners: { ...remoteSigners, timeoutMs: 60_000 },
    log: log.stream,
    variables: { SETTLE_TIMEOUT_SECONDS: '60' },
  })
  const capped = await (await newAccount(on.api)).newKey({ max_fees_per_day: '1' })
  const settleOne = async (headers: object = {}) => {
    const authorization = { validBefore: inSeconds(600) }
    const body = await paymentRequest(await newPayer(rpcUrl), { authorization })
    let result = await on.settle(body, headers)
    while (result.errorReason === 'settlement_pending') result = await on.settle(body, headers)
    return result
  }
  /** Resolves once these payments are claimed, behind those before. */
  const claim = async (count: number, headers: object = {}) => {
    const claimed = Number((await on.pool.query('SELECT FROM settlements')).rowCount)
    const results = range(count).map(() => settleOne(headers))
    await eventually(
      () => on.pool.query('SELECT FROM settlements'),
      ({ rowCount }) => rowCount === claimed + count,
    )
    return results
  }

  // No round begins while the signer is away, so that the next one has all these payments: 50 in its first batch.
  server.setUp(false)
  const first = settleOne()
  await log.line('remote signature failed')
  const results = [await claim(1, capped), await claim(51), await claim(1, capped)].flat()
  // As slow as a signer may be: it answers none before it has been asked for both.
  let release = () => {}
  const bothRequested = new Promise<void>((resolve) => (release = resolve))
  server.setFault(async ({ sign }) => {
    if (server.signed.length === 2) release()
    await bothRequested
    return { body: hexOf(sign()) }
  })
  server.setUp(true)

  expect(await first).toMatchObject({ success: true })
  const reasons = (await Promise.all(results)).map(({ success, errorReason }) => success || errorReason)
  const over = 'fee_allowance_exceeded'
  expect(reasons).toEqual([over, ...range(51).map(() => true), over])
  const { rows } = await on.pool.query<{ raw: string }>('SELECT raw FROM transactions WHERE signer = $1', [
    address,
  ])
  expect(rows.length).toBeGreaterThanOrEqual(2)
  const stored = rows.map(({ raw }) => Transaction.from(raw).unsignedHash)
  expect(server.signed.map((data) => keccak256(data)).toSorted()).toEqual(stored.toSorted())
})

/** Funded later, on the chain of the test. */
async function newRemoteSignerOfOwnChain() {
  const key = new SigningKey(`0x${'7a'.repeat(31)}01`)
  const server = await startWeb3Signer({ privateKeys: [key.privateKey] })
  closeLater(() => server.stop())
  const remoteSigners = settingsOf(server)
  return { server, address: computeAddress(key), remoteSigners }
}

test('a facilitator killed between the remote signature and storing it settles once after the restart', async () => {
  const { server, address, remoteSigners } = await newRemoteSigner()
  const [payer, databaseUrl] = await Promise.all([newPayer(rpcUrl), migratedDatabase('facilitator')])
  const body = await paymentRequest(payer)
  const client = await settleAndCrash({ step: 'signed', rpcUrl, remoteSigners, databaseUrl, body })
  expect(server.signed).toHaveLength(1)
  const { api, database } = await testFacilitator({ remoteSigners, databaseUrl })
  const answer = await api.post('/api/v1/settle').set(client).send(body).expect(200)
  const result = answer.body as SettleResult
  expect(result).toMatchObject({ success: true, payer: payer.address })
  expect((await transfersFrom(rpcUrl, payer.address)).map(({ transaction }) => transaction)).toEqual([
    result.transaction,
  ])
  expect(await noncesOf({ facilitator: { database } }, address)).toEqual([0])
  expect(await transactionCount(rpcUrl, address)).toBe(1)
})

async function settleAndCrash(order: CrashOrder): Promise<ClientHeaders> {
  const testing = join(__dirname, '../testing')
  const program = ['--require', join(testing, 'typescript.cjs'), join(testing, 'crashing.ts')]
  const env = { ...process.env, CRASH_ORDER: JSON.stringify(order) }
  const child = execFile(process.execPath, program, { env })
  let output = ''
  child.stdout?.on('data', (text: string) => (output += text))
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
  return JSON.parse(output) as ClientHeaders
}

test('moves from a key to a remote signer without a payment lost: first both, then the remote one alone', async () => {
  const key = await newSigner(rpcUrl)
  const { address, remoteSigners } = await newRemoteSigner()
  const databaseUrl = await migratedDatabase('facilitator')
  const local = { signerKeys: [key.privateKey], databaseUrl }
  const results: boolean[] = []
  for (const signers of [local, { ...local, remoteSigners }, { databaseUrl, remoteSigners }]) {
    const on = await facilitatorWithClient({ ...signers, variables: { SETTLE_TIMEOUT_SECONDS: '60' } })
    const settled = await Promise.all(
      range(5).map(async () => on.settle(await paymentRequest(await newPayer(rpcUrl)))),
    )
    results.push(...settled.map(({ success }) => success))
    if (!('signerKeys' in signers)) expect((await noncesOf(on, address)).length).toBeGreaterThan(0)
    await on.facilitator.close()
  }
  expect(results).toEqual(range(15).map(() => true))
})

test('starts while the remote signer is away, and shows it: metric, log and operator view', async () => {
  const { server, address, remoteSigners } = await newRemoteSigner()
  server.setUp(false)
  const log = readableLog()
  const adminToken = 'f'.repeat(20) + '0123456789abcdef'
  const { api, scrape } = await testFacilitator({
    remoteSigners,
    log: log.stream,
    variables: { ADMIN_TOKEN: adminToken },
  })
  expect(await log.line('remote signer unavailable')).toMatchObject({
    signer: address,
    problem: 'the remote signer answered with HTTP status 503',
  })
  expect(await scrape()).toMatch(
    new RegExp(`^tollgate_signer_available\\{network="base-sepolia",signer="${address}"\\} 0$`, 'm'),
  )
  const answer = await api.get('/admin/signers').set('Authorization', `Bearer ${adminToken}`).expect(200)
  expect(answer.body).toMatchObject({
    data: { signers: [{ address, error: 'the remote signer answered with HTTP status 503' }] },
  })
})
