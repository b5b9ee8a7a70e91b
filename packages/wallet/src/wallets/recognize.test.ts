import { Wallet, verifyMessage, verifyTypedData } from 'ethers'
import { createWalletClient, custom, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia, mainnet } from 'viem/chains'
import { type Offer } from '../payments/offer'
import { recognize } from './recognize'
import { type SigningContext } from './wallet'

const key = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const signer = new Wallet(key)
const account = privateKeyToAccount(key)

type Asked = { method: string; params?: unknown }

/** A browser's wallet: it is on another chain until it is asked to switch, and signs only for the chain it is on. */
function browserWallet(chainId = 1) {
  const asked: string[] = []
  let current = chainId
  const request = async ({ method, params }: Asked): Promise<unknown> => {
    asked.push(method)
    const [first, second] = (params ?? []) as string[]
    if (method === 'eth_chainId') return `0x${current.toString(16)}`
    if (method === 'wallet_switchEthereumChain') {
      current = Number((params as [{ chainId: string }])[0].chainId)
      return null
    }
    if (method === 'eth_requestAccounts' || method === 'eth_accounts') return [signer.address]
    if (method === 'personal_sign') return signer.signMessage(Buffer.from((first ?? '').slice(2), 'hex'))
    if (method !== 'eth_signTypedData_v4') throw Object.assign(new Error('unsupported'), { code: 4200 })
    const { domain, types, message } = JSON.parse(second ?? '') as Parameters<typeof sign>[0]
    if (domain.chainId !== current) throw new Error('the wallet is on another chain')
    return sign({ domain, types, message })
  }
  return { provider: { request }, asked }
}

function sign(data: {
  domain: { chainId: number }
  types: Record<string, { name: string; type: string }[]>
  message: Record<string, unknown>
}) {
  const { EIP712Domain: _, ...types } = data.types
  return signer.signTypedData(data.domain, types, data.message)
}

const offer: Offer = {
  x402Version: 2,
  scheme: 'exact',
  network: 'eip155:84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0x941b84B0EFa6B0De50C626dD1c5870441344F361',
  amount: 10_000n,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
  entry: {},
}
const NOW = 1_800_000_000
const context: SigningContext = {
  now: () => NOW,
  clockSkew: 0,
  nodeUrl: () => Promise.reject(new Error('no node is needed')),
  stops: { closed: new AbortController().signal },
}

async function signPayment(wallet: ReturnType<typeof recognize>, wanted: Offer, given = context) {
  const { fee, sign: signDraft } = await wallet.draftPayment(wanted, given)
  expect(fee).toBeUndefined()
  return signDraft()
}

describe.each([
  ['an ethers Wallet', () => signer],
  ['a viem account', () => account],
  [
    'a viem wallet client with an account',
    () => createWalletClient({ account, chain: baseSepolia, transport: http() }),
  ],
  [
    'a viem wallet client of a browser’s wallet',
    () => createWalletClient({ chain: mainnet, transport: custom(browserWallet().provider) }),
  ],
  ['an EIP-1193 provider', () => browserWallet().provider],
])('%s', (_name, create) => {
  test('signs text and payments as its account', async () => {
    const wallet = recognize(create())
    expect(await wallet.address()).toBe(signer.address)
    const { signature } = await wallet.signText('hello')
    expect(verifyMessage('hello', signature)).toBe(signer.address)

    expect(wallet.canPay(offer)).toBe(true)
    const { payload, validUntil } = await signPayment(wallet, offer)
    const { authorization, signature: paid } = payload as {
      authorization: Record<string, string>
      signature: string
    }
    expect(authorization).toMatchObject({
      from: signer.address,
      to: offer.payTo,
      value: '10000',
      validAfter: '0',
      validBefore: '1800000060',
    })
    expect(validUntil).toBe(1_800_000_060)
    const fields = ['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce']
    const kinds = ['address', 'address', 'uint256', 'uint256', 'uint256', 'bytes32']
    const types = {
      TransferWithAuthorization: fields.map((name, index) => ({ name, type: kinds[index] ?? '' })),
    }
    const domain = { name: 'USDC', version: '2', chainId: 84532, verifyingContract: offer.asset }
    expect(verifyTypedData(domain, types, authorization, paid)).toBe(signer.address)
  })
})

test('signs for at most ten minutes, however long the server would have it', async () => {
  const year = { ...offer, maxTimeoutSeconds: 31_536_000 }
  expect((await signPayment(recognize(signer), year)).validUntil).toBe(NOW + 600)
})

test('signs nothing by a clock with which the payment would have expired before it arrives', async () => {
  const wallet = recognize(signer)
  const paid = signPayment(wallet, offer, { ...context, clockSkew: 51 })
  await expect(paid).rejects.toMatchObject({
    code: 'CLOCK_WRONG',
    message: expect.stringContaining('51 seconds behind') as string,
  })
  expect(await signPayment(wallet, offer, { ...context, clockSkew: 50 })).toMatchObject({
    validUntil: NOW + 60,
  })
})

test.each<[string, Partial<Offer>]>([
  ['an asset that is no address', { asset: 'usdc' }],
  ['a recipient that is no address', { payTo: 'shop.eth' }],
  ['more than any token has', { amount: 2n ** 256n }],
  ['a network of another kind', { network: 'solana:mainnet' }],
  ['a scheme of another kind', { scheme: 'upto' }],
  ['no domain to sign in', { extra: {} }],
  ['another way to pay', { extra: { ...offer.extra, assetTransferMethod: 'permit2' } }],
])('cannot pay %s', (_name, changes) => {
  expect(recognize(signer).canPay({ ...offer, ...changes })).toBe(false)
})

test('asks a browser’s wallet to switch once, and only if it is on another chain', async () => {
  const { provider, asked } = browserWallet()
  const wallet = recognize(provider)
  await signPayment(wallet, offer)
  await signPayment(wallet, offer)
  expect(asked.filter((method) => method === 'wallet_switchEthereumChain')).toHaveLength(1)
})

test.each([
  ['names its account', 'eth_requestAccounts', ['eth_requestAccounts']],
  [
    'switches its chain',
    'wallet_switchEthereumChain',
    ['eth_requestAccounts', 'eth_chainId', 'wallet_switchEthereumChain'],
  ],
])('asks for no signature after a stop while the wallet %s', async (_name, slow, wanted) => {
  const { provider, asked } = browserWallet()
  const aborting = new AbortController()
  const request = async (given: Asked) => {
    const answer = await provider.request(given)
    if (given.method === slow) aborting.abort()
    return answer
  }
  const stops = { ...context.stops, signal: aborting.signal }
  const paid = signPayment(recognize({ request }), offer, { ...context, stops })
  await expect(paid).rejects.toMatchObject({ code: 'ABORTED' })
  expect(asked).toEqual(wanted)
})

test('reports a user who declines', async () => {
  const declined = Object.assign(new Error('User rejected the request'), { code: 4001 })
  const wallet = recognize({ request: () => Promise.reject(declined) })
  await expect(wallet.signText('hello')).rejects.toMatchObject({ code: 'SIGNATURE_REFUSED', cause: declined })
})

test.each([
  ['another scheme', { scheme: 'upto' }],
  ['no EIP-712 domain', { extra: {} }],
  ['Permit2', { extra: { ...offer.extra, assetTransferMethod: 'permit2' } }],
  ['a Cosmos chain', { network: 'cosmos:cosmoshub-4' }],
  ['a chain id that is no number', { network: 'eip155:0x1' }],
])('cannot pay an offer with %s', (_name, more) => {
  expect(recognize(signer).canPay({ ...offer, ...more })).toBe(false)
})

test.each([[undefined], [null], ['0xabc'], [{}], [[]], [{ address: signer.address }]])(
  'knows no wallet in %j',
  (input) => {
    expect(() => recognize(input)).toThrow('wallet is none of')
  },
)
