import { COINBASE_WALLET_FACTORY_ADDRESS, wrapSignature } from '@tollgate/devnet'
import { encodeJson } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Interface, Transaction, Wallet } from 'ethers'
import { balanceOf, findViolations } from '../testing/accounts'
import { cosmosPlanOf, planOf } from '../testing/catalog'
import { ACCOUNT_NUMBER, signSend } from '../testing/cosmos-payment'
import { testGateway, type TestGateway } from '../testing/gateway'
import { paymentHeader, signPayment, usdc, type Authorization } from '../testing/payment'
import { type TestWallet } from '../testing/wallet'

const cosmosPlan = cosmosPlanOf({ id: 3 })
const unnamedPlan = planOf({ id: 4, asset_name: undefined, asset_version: undefined })

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(cosmosPlan, unnamedPlan)
  await gateway.reapply()
})
afterEach(async () => {
  await gateway.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})
afterAll(closeAll)

const terms = { payTo: planOf().pay_to, amount: planOf().amount }
const stored = async (wallet: { address: string }) =>
  (await gateway.pool.query('SELECT FROM payments WHERE wallet = $1', [wallet.address])).rowCount
const asked = () => gateway.facilitator.calls.length

const withSignature =
  (of: (right: string) => string) =>
  async ({ signer }: TestWallet) => {
    const payment = await signPayment(signer, terms)
    return paymentHeader({ ...payment, signature: of(payment.signature) })
  }
const changed = (changes: Partial<Authorization>) => async (wallet: TestWallet) =>
  wallet.pay(planOf(), changes)
const inSeconds = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds)

const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const highS = (signature: string) => {
  const s = N - BigInt(`0x${signature.slice(66, 130)}`)
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${signature.endsWith('1b') ? '1c' : '1b'}`
}

const notSigned = 'invalid_exact_evm_payload_signature'
const wrongEnd = 'invalid_exact_evm_payload_authorization_valid_before'

describe('an EVM payment that its wallet did not sign is refused, without a settle request or a row', () => {
  test.each<[string, (wallet: TestWallet) => Promise<string>, string]>([
    ['no signature', withSignature(() => '0x'), notSigned],
    ['garbage of the length of a signature', withSignature(() => `0x${'11'.repeat(64)}1b`), notSigned],
    ['zeros', withSignature(() => `0x${'00'.repeat(65)}`), notSigned],
    [
      'garbage of kilobytes, as a contract wallet may send',
      withSignature(() => `0x${'ab'.repeat(4_000)}`),
      notSigned,
    ],
    [
      'a signature with one bit flipped',
      withSignature((right) => right.replace(/.(?=..$)/, (digit) => (digit === '0' ? '1' : '0'))),
      notSigned,
    ],
    ['a signature with a high s', withSignature(highS), notSigned],
    [
      'the signature of another wallet',
      async (wallet) =>
        paymentHeader(await signPayment(Wallet.createRandom(), terms, { from: wallet.address })),
      notSigned,
    ],
    [
      'a signature over another amount',
      async ({ signer }) => {
        const { signature } = await signPayment(signer, { ...terms, amount: '1' })
        return paymentHeader({ ...(await signPayment(signer, terms)), signature })
      },
      notSigned,
    ],
    [
      'its own signature in the wrapper of a contract wallet',
      withSignature((right) => wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, '0x', right)),
      notSigned,
    ],
    ['a malformed wrapper', withSignature((right) => `${right}${'6492'.repeat(16)}`), notSigned],
    ['another amount', changed({ value: '9999' }), 'invalid_exact_evm_payload_authorization_value'],
    [
      'another recipient',
      changed({ to: Wallet.createRandom().address }),
      'invalid_exact_evm_payload_recipient_mismatch',
    ],
    ['an end that passed a day ago', changed({ validBefore: inSeconds(-86_401) }), wrongEnd],
    ['an end in years', changed({ validBefore: inSeconds(10 ** 8) }), wrongEnd],
    [
      'a beginning to come',
      changed({ validAfter: inSeconds(60) }),
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
  ])('%s', async (_, pay, reason) => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const before = asked()
    const answer = await call({ payment: await pay(wallet) })
    expect([answer.status, (answer.body as { error?: string }).error]).toEqual([402, reason])
    expect((answer.body as { message: string }).message).toContain('nothing was charged')
    expect([asked() - before, await stored(wallet)]).toEqual([0, 0])
    await call({ payment: await wallet.pay() }).expect(200)
  })

  test('a whole transaction for another chain, another token or another recipient', async () => {
    const erc20 = new Interface(['function transfer(address to, uint256 amount)'])
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const before = asked()
    const raw = (changes: object, to = planOf().pay_to) => {
      const transaction = Transaction.from({
        type: 2,
        chainId: 84532,
        to: usdc,
        data: erc20.encodeFunctionData('transfer', [to, planOf().amount]),
        gasLimit: 100_000,
        maxFeePerGas: 10n ** 10n,
        ...changes,
      })
      transaction.signature = wallet.signer.signingKey.sign(transaction.unsignedHash)
      return transaction.serialized
    }
    const thirdParty = Wallet.createRandom().address
    for (const payment of [raw({ chainId: 1 }), raw({ to: thirdParty }), raw({}, thirdParty)])
      expect((await call({ payment })).status).toBe(402)
    expect([asked() - before, await stored(wallet)]).toEqual([0, 0])
  })
})

test('605 garbage headers of one wallet cause no facilitator request and no row, and its calls continue', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const before = asked()
  const garbage = await withSignature(() => `0x${'11'.repeat(64)}1b`)(wallet)
  const statuses = new Set<number>()
  for (let sent = 0; sent < 605; sent += 55)
    for (const { status } of await Promise.all(Array.from({ length: 55 }, () => call({ payment: garbage }))))
      statuses.add(status)
  expect([...statuses]).toEqual([402])
  expect([asked() - before, await stored(wallet)]).toEqual([0, 0])
})

describe('a signature that only the chain can verify', () => {
  const garbage = withSignature(() => `0x${'ab'.repeat(200)}`)
  const signedInAs = (wallet: TestWallet, how: string | null) =>
    gateway.pool.query('UPDATE sessions SET signed_by = $2 WHERE wallet = $1', [wallet.address, how])

  test.each([['by a contract'], [null]])(
    'is sent to the facilitator if the sign-in had one %s',
    async (how) => {
      const wallet = gateway.wallet()
      const { call } = await wallet.signIn()
      await signedInAs(wallet, how === null ? null : 'contract')
      const before = asked()
      expect((await call({ payment: await garbage(wallet) })).status).toBe(402)
      expect([asked() - before, await stored(wallet)]).toEqual([1, 1])
    },
  )

  test('is refused in a malformed wrapper, though a contract signed in', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    await signedInAs(wallet, 'contract')
    const before = asked()
    const wrapped = await withSignature((right) =>
      wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, '0x', `${right}${'6492'.repeat(16)}`),
    )(wallet)
    expect((await call({ payment: wrapped })).body).toMatchObject({ error: notSigned })
    expect([asked() - before, await stored(wallet)]).toEqual([0, 0])
  })

  test('is sent to the facilitator if the plan has no EIP-712 domain', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn({ pricing_plan_id: unnamedPlan.id })
    await call({ payment: await wallet.pay(unnamedPlan) }).expect(200)
    expect(await balanceOf(gateway.ledger, wallet.address, unnamedPlan.id)).toBe(99n)
  })
})

describe('a Cosmos payment that its wallet did not sign is refused, without a settle request or a row', () => {
  const customer = async () => {
    const wallet = gateway.cosmosWallet({ plan: cosmosPlan })
    return { wallet, ...(await wallet.signIn()) }
  }
  type CosmosWallet = Awaited<ReturnType<typeof customer>>['wallet']
  const forged = (wallet: CosmosWallet): CosmosWallet => ({
    ...wallet,
    sign: (bytes) => wallet.sign(Buffer.from([...bytes, 0])),
  })

  test.each<[string, (wallet: CosmosWallet) => object]>([
    ['another amount', (wallet) => signSend(wallet, { ...cosmosPlan, amount: '9999' })],
    ['another denomination', (wallet) => signSend(wallet, { ...cosmosPlan, asset_address: 'uatom' })],
    ['another recipient', (wallet) => signSend(wallet, { ...cosmosPlan, pay_to: wallet.address })],
    ['another chain', (wallet) => ({ ...signSend(wallet), chainId: 'osmosis-2' })],
    ['the key of another', (wallet) => signSend({ ...gateway.cosmosWallet(), address: wallet.address })],
    [
      'a forged signature, its account number stated',
      (wallet) => signSend(forged(wallet), cosmosPlan, { accountNumber: ACCOUNT_NUMBER }),
    ],
    ['an account number that was not signed', (wallet) => signSend(wallet, cosmosPlan, { accountNumber: 8 })],
  ])('%s', async (_, sign) => {
    const { wallet, call } = await customer()
    const before = asked()
    expect((await call({ payment: encodeJson(sign(wallet)) })).status).toBe(402)
    expect([asked() - before, await stored(wallet)]).toEqual([0, 0])
  })

  test.each([
    ['stated', ACCOUNT_NUMBER],
    ['left out', undefined],
  ])('and a valid one is accepted, with account number %s', async (_, accountNumber) => {
    const { wallet, call } = await customer()
    const options = accountNumber === undefined ? {} : { accountNumber }
    await call({ payment: encodeJson(signSend(wallet, cosmosPlan, options)) }).expect(200)
    expect(await balanceOf(gateway.ledger, wallet.address, cosmosPlan.id)).toBe(99n)
  })
})
