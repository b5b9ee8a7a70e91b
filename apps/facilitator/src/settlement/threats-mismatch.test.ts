import { alterFaultyToken, deployFaultyToken, USDC_ADDRESS, usdcAbi, type TokenFault } from '@tollgate/devnet'
import { closeAll, readableLog } from '@tollgate/testing'
import { type BaseWallet, Interface } from 'ethers'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc, newPayer, newSigner, ownChain } from '../testing/chain'
import { forward, startNode } from '../testing/failing-node'
import { newClient } from '../testing/facilitator'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { signInDomain } from '../testing/hostile'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, inSeconds, paymentRequest } from '../testing/payment'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
const GWEI = 1_000_000_000n
const mismatch = 'transfer_event_mismatch'

let rpcUrl: string
let ground: FacilitatorWithClient
const log = readableLog()
beforeAll(async () => {
  ;({ rpcUrl } = await ownChain())
  ground = await facilitatorWithClient({
    rpcUrl,
    log: log.stream,
    variables: { ADMIN_TOKEN, SETTLE_TIMEOUT_SECONDS: '30' },
  })
})
afterAll(closeAll)

const register = (asset: string, active?: boolean, on = ground) =>
  on.facilitator.api
    .post('/admin/assets')
    .set({ Authorization: `Bearer ${ADMIN_TOKEN}` })
    .send({ network: 'base-sepolia', asset, symbol: 'FLT', decimals: 6, ...(active ? { active } : {}) })

/** A sound token, registered, and payments in it. */
async function registeredToken(on = { rpcUrl, ground }) {
  const { rpcUrl, ground } = on
  const asset = await deployFaultyToken(rpcUrl)
  await register(asset, undefined, ground).expect(200)
  const domain = { name: 'Faulty', version: '1' }
  const endow = ({ address }: BaseWallet) =>
    callRpc(rpcUrl, 'anvil_dealERC20', address, asset, `0x${(100n * AMOUNT).toString(16)}`)
  async function pay(payer: BaseWallet, seconds = 60) {
    const body = await paymentRequest(payer, {
      requirements: { asset, extra: domain },
      authorization: { validBefore: inSeconds(seconds) },
    })
    return signInDomain(payer, body, { ...domain, verifyingContract: asset })
  }
  const become = (fault: TokenFault) => alterFaultyToken(rpcUrl, asset, { fault })
  const isListed = async () => {
    const answer = await ground.facilitator.api.get('/api/v1/assets').expect(200)
    return (answer.body as { data: { asset: string }[] }).data.some((one) => one.asset === asset)
  }
  const row = () => ground.facilitator.database.prisma.asset.findFirstOrThrow({ where: { asset } })
  return { asset, endow, pay, become, isListed, row }
}

describe('a token that begins to take a fee after it was registered', () => {
  test.each<[string, TokenFault]>([
    ['and says so', 'TakesFeeOpenly'],
    ['and names another amount', 'WrongTransferEvent'],
    ['and names no transfer any more', 'NoTransferEvent'],
  ])('%s: the answer carries the transaction, and the asset is suspended at once', async (_, fault) => {
    const token = await registeredToken()
    const [payer, other] = [await newPayer(rpcUrl), await newPayer(rpcUrl)]
    await Promise.all([payer, other].map(token.endow))
    const [body, next] = [await token.pay(payer), await token.pay(other)]
    await token.become(fault)
    expect(await ground.verify(body)).toMatchObject({ isValid: true })

    const told = await ground.settle(body)
    expect(told).toMatchObject({ success: false, errorReason: mismatch })
    const { from, status } = (await callRpc(rpcUrl, 'eth_getTransactionReceipt', told.transaction)) as {
      from: string
      status: string
    }
    expect([from, status]).toEqual([ground.signer.address.toLowerCase(), '0x1'])

    // Again, and by another client: never claimed again.
    const sent = await ground.sent()
    expect(await ground.settle(body)).toMatchObject({ errorReason: mismatch, transaction: told.transaction })
    const stranger = await newClient(ground.facilitator.api)
    expect(await ground.settle(body, stranger)).toMatchObject({ errorReason: 'duplicate_settlement' })

    await ground.expectRefused(next, 'invalid_payment_requirements')
    expect([await ground.sent(), await token.isListed()]).toEqual([sent, false])
    expect(await token.row()).toMatchObject({
      active: false,
      suspendedAt: expect.any(Date) as Date,
      suspension: expect.stringContaining(told.transaction) as string,
    })
    await log.line('asset suspended, transfer mismatch')
  })

  test('is resumed by an operator once it passes the simulations again, and not before', async () => {
    const token = await registeredToken()
    const payer = await newPayer(rpcUrl)
    await token.endow(payer)
    const [body, next] = [await token.pay(payer), await token.pay(payer)]
    await token.become('TakesFeeOpenly')
    expect(await ground.settle(body)).toMatchObject({ errorReason: mismatch })
    await register(token.asset, true).expect(400)
    await token.become('None')
    // Registration as it was configured does not resume it.
    await register(token.asset).expect(200)
    expect(await ground.verify(next)).toMatchObject({ isValid: false })
    await register(token.asset, true).expect(200)
    expect(await token.row()).toMatchObject({ active: true, suspendedAt: null, suspension: null })
    expect(await ground.settle(next)).toMatchObject({ success: true })
  })
})

test('a mismatch stays one where its payment lapses before the node that is asked knows the receipt', async () => {
  const { rpcUrl: chainUrl } = await ownChain()
  let isForgetful = false
  let searches = 0
  let noteSearched: () => void
  const searched = new Promise<void>((resolve) => (noteSearched = resolve))
  const node = await startNode((messages) =>
    messages.map((message) => {
      const { id, method } = message
      const isSearch = messages.some((other) => other.method === 'eth_getLogs')
      // Twice: what the first found is written down by then, where it is.
      if (isForgetful && method === 'eth_getLogs' && ++searches === 2) noteSearched()
      const isForgotten =
        method === 'eth_getTransactionByHash' || (method === 'eth_getTransactionReceipt' && !isSearch)
      return isForgetful && isForgotten ? { jsonrpc: '2.0', id, result: null } : forward(chainUrl, message)
    }),
  )
  const on = await facilitatorWithClient({
    chainUrl,
    rpcUrl: node,
    variables: { ADMIN_TOKEN, SETTLE_TIMEOUT_SECONDS: '30' },
  })
  const token = await registeredToken({ rpcUrl: chainUrl, ground: on })
  const payer = await newPayer(chainUrl)
  await token.endow(payer)
  const body = await token.pay(payer)
  await token.become('TakesFeeOpenly')
  await callRpc(chainUrl, 'evm_setAutomine', false)
  const settling = on.settle(body)
  const { prisma } = on.facilitator.database
  const deadline = performance.now() + 20_000
  while ((await prisma.transaction.count({ where: { acceptedAt: { not: null } } })) === 0) {
    if (performance.now() > deadline) throw new Error('nothing was sent')
    await delay(20)
  }
  isForgetful = true
  await callRpc(chainUrl, 'evm_mine')
  await callRpc(chainUrl, 'evm_increaseTime', 120)
  await callRpc(chainUrl, 'evm_mine')
  // It is asked after the payment for a while, and knows the receipt then.
  await searched
  isForgetful = false
  expect(await settling).toMatchObject({ success: false, errorReason: mismatch })
  expect(await token.row()).toMatchObject({ active: false })
})

test('payments that wait in an asset are not sent once it is suspended', async () => {
  const token = await registeredToken()
  const payers = await Promise.all([newPayer(rpcUrl), newPayer(rpcUrl)])
  await Promise.all(payers.map(token.endow))
  const body = await token.pay(payers[0])
  const { prisma, pool } = ground.facilitator.database
  // Claimed, and suspended before its settler looks at it.
  await pool.query(
    `CREATE function suspend_claimed() returns trigger language plpgsql AS $$ BEGIN
       UPDATE assets SET active = false, suspended_at = now() WHERE asset = new.asset; return new; END $$`,
  )
  await pool.query(
    `create trigger suspend_claimed after insert on settlements for each row execute function suspend_claimed()`,
  )
  const sent = await ground.sent()
  try {
    expect(await ground.settle(body)).toMatchObject({
      success: false,
      errorReason: 'invalid_payment_requirements',
    })
  } finally {
    await pool.query('drop trigger suspend_claimed on settlements')
    await pool.query('DROP function suspend_claimed')
  }
  expect([await ground.sent(), await prisma.settlement.count({ where: { asset: token.asset } })]).toEqual([
    sent,
    1,
  ])

  // Claimed again, it is a new settlement: when an earlier one was settled says nothing of it.
  await pool.query('UPDATE assets SET active = true, suspended_at = NULL WHERE asset = $1', [token.asset])
  await pool.query("UPDATE settlements SET settled_at = '2020-01-01' WHERE asset = $1", [token.asset])
  const told = await ground.settle(body)
  expect(told).toMatchObject({ success: true })
  expect(told.timestamp).not.toContain('2020-01-01')
})

describe('a token that succeeds in simulations and fails in blocks', () => {
  test('is suspended at the third transaction, and bars its payer from no other token', async () => {
    const token = await registeredToken()
    const [payer, other] = [await newPayer(rpcUrl), await newPayer(rpcUrl)]
    await Promise.all([payer, other].map(token.endow))
    const [body, next] = [await token.pay(payer, 25), await token.pay(other)]
    await token.become('FailsWhenMined')
    const sent = await ground.sent()
    expect(await ground.verify(body)).toMatchObject({ isValid: true })
    let told = await ground.settle(body)
    while (told.errorReason === 'settlement_pending') told = await ground.settle(body)
    expect(told).toMatchObject({ success: false, errorReason: 'payment_expired' })
    expect((await ground.sent()) - sent).toBe(3)

    expect(await token.row()).toMatchObject({ active: false, suspendedAt: expect.any(Date) as Date })
    await log.line('asset suspended, transactions wasted')
    await ground.expectRefused(next, 'invalid_payment_requirements')
    expect(await ground.settle(await paymentRequest(payer))).toMatchObject({ success: true })
  })

  test('is distinguished from a sound one whose payer moves the money away before our transaction and back behind it', async () => {
    const paused = await withManualMining()
    const payer = await newPayer(paused.rpcUrl)
    const friend = await newSigner(paused.rpcUrl)
    await callRpc(paused.rpcUrl, 'anvil_setBalance', payer.address, '0xde0b6b3a7640000')
    const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
    const settling = paused.settle(body)
    await paused.onTheirWay(1)
    const balance = 1_000_000_000n
    const move = async (from: BaseWallet, to: string, maxFeePerGas: bigint) => {
      const transaction = {
        type: 2,
        chainId: 84532,
        nonce: 0,
        to: USDC_ADDRESS,
        gasLimit: 120_000,
        maxFeePerGas,
        maxPriorityFeePerGas: 1n,
        data: new Interface([...usdcAbi]).encodeFunctionData('transfer', [to, balance]),
      }
      await callRpc(paused.rpcUrl, 'eth_sendRawTransaction', await from.signTransaction(transaction))
    }
    // The chain takes who offers most first; the last offers what the next block asks for and no more.
    const latest = (await callRpc(paused.rpcUrl, 'eth_getBlockByNumber', 'latest', false)) as {
      baseFeePerGas: string
    }
    await move(payer, friend.address, 90n * GWEI)
    await move(friend, payer.address, (BigInt(latest.baseFeePerGas) * 9n) / 8n + 1n)
    await paused.mine()
    // The first was wasted; as it is open again it is sent once more, alone.
    await paused.until('transactions', 2)
    await paused.onTheirWay(1)
    const statuses = await receiptsOf(paused)
    expect(statuses).toEqual(['0x0'])
    await paused.mine()
    expect(await settling).toMatchObject({ success: true })
    expect(await paused.count('asset_faults')).toBe(0)
    expect(await paused.count('assets WHERE active')).toBe(1)
  })
})

/** Of our transactions that are mined. */
async function receiptsOf({ rpcUrl, pool }: Awaited<ReturnType<typeof withManualMining>>) {
  const { rows } = await pool.query<{ hash: string }>("SELECT hash FROM transactions WHERE status = 'mined'")
  const receipts = await Promise.all(
    rows.map(({ hash }) => callRpc(rpcUrl, 'eth_getTransactionReceipt', hash)),
  )
  return receipts.map((receipt) => (receipt as { status: string }).status)
}
