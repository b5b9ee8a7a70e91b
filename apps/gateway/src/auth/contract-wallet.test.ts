import {
  COINBASE_WALLET_FACTORY_ADDRESS,
  type CoinbaseWallet,
  createCoinbaseWallet,
  deploySmartWallet,
  wrapSignature,
} from '@tollgate/devnet'
import { type SessionTokens } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { getAddress, hexlify, JsonRpcProvider, randomBytes, Wallet } from 'ethers'
import { decode } from 'jsonwebtoken'
import { planOf, providerOf } from '../testing/catalog'
import { eip4361Text } from '../testing/eip4361'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { paymentHeader, signPayment } from '../testing/payment'
import { answers, getRefusingUrl, startUpstream } from '../testing/upstream'
import { createCall, createLogins, signInText } from '../testing/wallet'

const rpcUrl = process.env.TEST_EVM_RPC_URL!
const owner = new Wallet(Wallet.createRandom().privateKey)
const provider = new JsonRpcProvider(rpcUrl, 84532, { staticNetwork: true, cacheTimeout: -1 })
const thirdParty = new Wallet(Wallet.createRandom().privateKey)

let gateway: TestGateway
let address: string
beforeAll(async () => {
  gateway = await testGateway()
  const { catalog } = gateway
  catalog.providers[0]!.rpc = [rpcUrl]
  catalog.plans.push(
    planOf({ id: 2, network: 'base', chain_id: '8453' }),
    planOf({ id: 3, network: 'dark', chain_id: '5' }),
  )
  // A node that falsely reports chain 8453, and a chain without a node.
  catalog.providers.push(providerOf({ chain_id: '8453', rpc: [rpcUrl] }))
  catalog.providers.push(providerOf({ chain_id: '5', rpc: [await getRefusingUrl()] }))
  catalog.plans.push(planOf({ id: 4, network: 'slow', chain_id: '6' }))
  catalog.providers.push(providerOf({ chain_id: '6', rpc: [(await startUpstream(answers.hang)).url] }))
  await gateway.reapply()
  address = getAddress(await deploySmartWallet(rpcUrl, owner.address))
})
afterAll(closeAll)
afterAll(() => provider.destroy())

const nonce = async () =>
  ((await gateway.api.get('/auth/nonce').query({ address }).expect(200)).body as { nonce: string }).nonce
const shortText = async () =>
  signInText({ address, nonce: await nonce(), issuedAt: gateway.clock.now().toISOString() })

async function login({ text, signer = owner, chainId = '84532', planId = 1 }: Partial<Attempt> = {}) {
  const message = text ?? (await shortText())
  const signature = await signer.signMessage(message)
  const bound = { x402_chain_id: chainId, x402_ecosystem: 'evm', pricing_plan_id: planId }
  return gateway.api.post('/auth/login').send({ message, signature, address, auth_method: 'siwe', ...bound })
}
type Attempt = { text: string; signer: Wallet; chainId: string; planId: number }

const refused = [401, 'INVALID_SIGNATURE']

test('a contract wallet signs in by its owner’s signature, in either form, and is the session’s wallet', async () => {
  const eip4361 = eip4361Text({ address, nonce: await nonce(), issuedAt: gateway.clock.now().toISOString() })
  for (const text of [await shortText(), eip4361]) {
    const answer = await login({ text })
    expect(outcomeOf(answer)).toEqual([200, undefined])
    expect(decode((answer.body as SessionTokens).token)).toMatchObject({ wallet: address })
  }
  const text = 'SELECT DISTINCT signed_by FROM sessions WHERE wallet = $1'
  expect((await gateway.pool.query(text, [address])).rows).toEqual([{ signed_by: 'contract' }])
})

test('a node is asked with the headers of its provider', async () => {
  const node = await startUpstream(async (res, { headers, body }) => {
    if (headers['x-client'] !== 'tollgate') return res.writeHead(401).end()
    const type = { 'content-type': 'application/json' }
    const answer = await fetch(rpcUrl, { method: 'POST', headers: type, body: new Uint8Array(body) })
    return res.writeHead(200, type).end(await answer.text())
  })
  const entry = gateway.catalog.providers[0]!
  Object.assign(entry, { rpc: [node.url], headers: { 'x-client': 'tollgate' } })
  await gateway.reapply()
  expect(outcomeOf(await login())).toEqual([200, undefined])
  Object.assign(entry, { rpc: [rpcUrl], headers: {} })
  await gateway.reapply()
})

test('a payment of a contract wallet, whose signature only the chain can verify, is sent to the facilitator', async () => {
  const { token } = (await login()).body as SessionTokens
  const terms = { payTo: planOf().pay_to, amount: planOf().amount }
  const payment = paymentHeader(await signPayment(owner, terms, { from: address }))
  const before = gateway.facilitator.calls.length
  await createCall(gateway.api, token)({ payment })
  expect(gateway.facilitator.calls).toHaveLength(before + 1)
})

describe('a Coinbase wallet, which wraps what it signs (ERC-6492),', () => {
  const newWallet = () => createCoinbaseWallet(rpcUrl, new Wallet(hexlify(randomBytes(32))))
  const loginsOf = (wallet: CoinbaseWallet, sign = wallet.signMessage) =>
    createLogins(gateway, wallet.address, async (message) => ({
      signature: await sign(message),
      auth_method: 'siwe',
      x402_chain_id: '84532',
      x402_ecosystem: 'evm',
      pricing_plan_id: 1,
    }))
  const post = (body: object) => gateway.api.post('/auth/login').send(body)

  test('signs in once it is deployed, wrapped or not, and its nonce is used once', async () => {
    const wallet = await newWallet()
    const login = await loginsOf(wallet).login()
    expect(outcomeOf(await post(login))).toEqual(refused)
    expect(await provider.getCode(wallet.address)).toBe('0x')

    await wallet.deploy()
    const answer = await post(login)
    expect(outcomeOf(answer)).toEqual([200, undefined])
    expect(decode((answer.body as SessionTokens).token)).toMatchObject({ wallet: wallet.address })
    const signature = await wallet.bare.signMessage(login.message)
    expect(outcomeOf(await post({ ...login, signature }))).toEqual([401, 'EXPIRED_NONCE'])
    const bare = await loginsOf(wallet, wallet.bare.signMessage).login()
    expect(outcomeOf(await post(bare))).toEqual([200, undefined])
  })

  test('does not sign in by another owner, in two wrappers, or on a chain where it is not', async () => {
    const [wallet, other] = [await newWallet(), await newWallet()]
    await wallet.deploy()
    const twice = async (message: string) =>
      wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, '0x', await wallet.signMessage(message))
    for (const sign of [other.signMessage, twice])
      expect(outcomeOf(await post(await loginsOf(wallet, sign).login()))).toEqual(refused)
    const elsewhere = { x402_chain_id: '8453', pricing_plan_id: 2 }
    expect(outcomeOf(await post(await loginsOf(wallet).login(elsewhere)))).toEqual(refused)
  })

  test('pays with a wrapped signature, which is sent to the facilitator as it is', async () => {
    const wallet = await newWallet()
    await wallet.deploy()
    const { call } = await loginsOf(wallet).signIn()
    const payment = await signPayment(wallet, { payTo: planOf().pay_to, amount: planOf().amount })
    const before = gateway.facilitator.calls.length
    await call({ payment: paymentHeader(payment) })
    expect(gateway.facilitator.calls.slice(before)).toMatchObject([
      { request: { paymentPayload: { payload: payment } } },
    ])
  })
})

test('a third party’s signature is refused and does not consume the nonce', async () => {
  const text = await shortText()
  expect(outcomeOf(await login({ text, signer: thirdParty }))).toEqual(refused)
  expect(outcomeOf(await login({ text }))).toEqual([200, undefined])
  expect(outcomeOf(await login({ text }))).toEqual([401, 'EXPIRED_NONCE'])
})

test('a contract cannot sign in with a message for another chain than the plan’s', async () => {
  const text = eip4361Text({
    address,
    nonce: await nonce(),
    issuedAt: gateway.clock.now().toISOString(),
    chainId: '1',
  })
  expect(outcomeOf(await login({ text }))).toEqual(refused)
})

test('a contract is queried on the plan’s chain only: a node of another chain and an unavailable node are ignored, and no URL is disclosed', async () => {
  for (const [planId, chainId] of [
    [2, '8453'],
    [3, '5'],
  ] as const) {
    const answer = await login({ planId, chainId })
    expect(outcomeOf(answer)).toEqual(refused)
    expect(answer.text).toContain('was unavailable')
    expect(answer.text + gateway.log.text()).not.toMatch(/127\.0\.0\.1:\d+/)
  }
})

test('a provider whose node accepts everything cannot sign in a wallet that another provider refuses', async () => {
  const liar = await startUpstream((res, { body }) => {
    const { method, id } = JSON.parse(body.toString()) as { method: string; id: number }
    const result = method === 'eth_chainId' ? '0x14a34' : `0x1626ba7e${'0'.repeat(56)}`
    return res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  gateway.catalog.providers.unshift(providerOf({ provider_id: 'liar', chain_id: '84532', rpc: [liar.url] }))
  await gateway.reapply()
  expect(outcomeOf(await login({ signer: thirdParty }))).toEqual(refused)
  expect(outcomeOf(await login())).toEqual([200, undefined])
  expect(liar.requests.length).toBeGreaterThan(0)
})

test('logins of one client above its share of the checks wait for a place, and are answered', async () => {
  const texts = await Promise.all(Array.from({ length: 7 }, shortText))
  const answered = await Promise.all(texts.map((text) => login({ text, planId: 4, chainId: '6' })))
  expect(answered.map(outcomeOf)).toEqual(texts.map(() => refused))
})

test('a nonce is good for three checks by nodes; one that is not known does not hide a wrong signature', async () => {
  const text = await shortText()
  for (let check = 0; check < 3; check++)
    expect(outcomeOf(await login({ text, signer: thirdParty }))).toEqual(refused)
  for (const signer of [thirdParty, owner]) expect(outcomeOf(await login({ text, signer }))).toEqual(refused)
  const unknown = signInText({ address, nonce: 'a'.repeat(32), issuedAt: gateway.clock.now().toISOString() })
  expect(outcomeOf(await login({ text: unknown, signer: thirdParty }))).toEqual(refused)
  expect(outcomeOf(await login({ text: unknown, signer: owner }))).toEqual([401, 'EXPIRED_NONCE'])
})
