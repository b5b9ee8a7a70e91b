import { COINBASE_WALLET_FACTORY_ADDRESS, createCoinbaseWallet, wrapSignature } from '@tollgate/devnet'
import { hexlify, randomBytes, Wallet } from 'ethers'
import { createPublicClient, hashMessage, http, isErc6492Signature } from 'viem'
import { toCoinbaseSmartAccount } from 'viem/account-abstraction'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { ChainUnavailable } from '../../errors'
import { type Nodes } from '../../family'
import { verifyContractSignIn, verifySignIn } from './sign-in'
import { openTestChain, type TestChain } from '../testing/chain'
import {
  credulousWallet,
  endlessWallet,
  onChainSigner,
  refusingWallet,
  talkativeWallet,
} from '../testing/contracts'
import { startJsonRpcNode } from '../../json-rpc/testing/node'
import { highTwin } from '../testing/signatures'

let world: TestChain
beforeAll(async () => (world = await openTestChain()))
afterAll(() => world.close())

const message = 'Tollgate wants you to sign in.'
const nodes = (changes: Partial<Nodes> = {}): Nodes => ({
  name: 'base-sepolia',
  chainId: '84532',
  rpcUrls: [process.env.TEST_EVM_RPC_URL!],
  rpcTimeoutMs: 5_000,
  ...changes,
})
const anySignature = hexlify(randomBytes(65))

test('a contract vouches for what its owner signed, and for nothing else', async () => {
  const owner = await world.newWallet()
  const address = await world.newSmartWallet(owner)
  const signature = await owner.signMessage(message)
  const stranger = await Wallet.createRandom().signMessage(message)

  for (const written of [signature, signature.slice(2)])
    expect(await verifyContractSignIn({ message, address, signature: written }, nodes())).toBe(true)
  expect(await verifyContractSignIn({ message: `${message} `, address, signature }, nodes())).toBe(false)
  expect(await verifyContractSignIn({ message, address, signature: stranger }, nodes())).toBe(false)
  expect(await verifyContractSignIn({ message, address, signature: highTwin(signature) }, nodes())).toBe(
    false,
  )
})

describe('a Coinbase wallet, which wraps what it signs (ERC-6492),', () => {
  const newWallet = () =>
    createCoinbaseWallet(process.env.TEST_EVM_RPC_URL!, new Wallet(hexlify(randomBytes(32))))

  test('signs in as viem signs for it, wrapped or not', async () => {
    const owner = privateKeyToAccount(hexlify(randomBytes(32)) as `0x${string}`)
    const transport = http(process.env.TEST_EVM_RPC_URL)
    const client = createPublicClient({ chain: baseSepolia, transport })
    const account = await toCoinbaseSmartAccount({ client, owners: [owner], version: '1.1' })
    const { address } = account
    const wrapped = await account.signMessage({ message })
    expect(isErc6492Signature(wrapped)).toBe(true)
    const { factory, factoryData } = await account.getFactoryArgs()
    await world.send(world.payer, factory!, factoryData!)
    const bare = await account.sign({ hash: hashMessage(message) })
    for (const signature of [wrapped, bare, wrapped.toUpperCase().replace('X', 'x')])
      expect(await verifyContractSignIn({ message, address, signature }, nodes())).toBe(true)
  })

  test('does not sign in before it is deployed, nor by another owner, nor in two wrappers', async () => {
    const [wallet, other] = [await newWallet(), await newWallet()]
    const { address } = wallet
    const signature = await wallet.signMessage(message)
    expect(await verifyContractSignIn({ message, address, signature }, nodes())).toBe(false)
    expect(await world.provider.getCode(address)).toBe('0x')

    await wallet.deploy()
    expect(await verifyContractSignIn({ message, address, signature }, nodes())).toBe(true)
    const twice = wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, wallet.factoryData, signature)
    for (const wrong of [await other.signMessage(message), await wallet.signMessage(`${message} `), twice])
      expect(await verifyContractSignIn({ message, address, signature: wrong }, nodes())).toBe(false)
  })

  test('is not an account with a key that wraps its own signature', async () => {
    const key = await world.newWallet()
    const { address } = key
    const plain = await key.signMessage(message)
    const signature = wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, '0x', plain)
    expect(verifySignIn({ message, address, signature: plain })).toBe(true)
    expect(verifySignIn({ message, address, signature })).toBe(false)
    expect(await verifyContractSignIn({ message, address, signature }, nodes())).toBe(false)
  })
})

test('a contract that signed on chain vouches with an empty signature', async () => {
  const address = await world.place(onChainSigner)
  for (const [signature, verdict] of [
    ['0x', true],
    ['0x00', false],
    [anySignature, false],
  ] as const)
    expect([signature, await verifyContractSignIn({ message, address, signature }, nodes())]).toEqual([
      signature,
      verdict,
    ])
  const other = (await world.newWallet()).address
  expect(await verifyContractSignIn({ message, address: other, signature: '0x' }, nodes())).toBe(false)
})

test.each([
  ['says yes to everything', credulousWallet, true],
  ['says no', refusingWallet, false],
  ['never comes to an end', endlessWallet, false],
  ['answers a megabyte', talkativeWallet, false],
  ['has no code', '0x', false],
])('a contract that %s is taken at its word, and bounded', async (_, code, verdict) => {
  const address = await world.place(code)
  expect(await verifyContractSignIn({ message, address, signature: anySignature }, nodes())).toBe(verdict)
})

test.each(['', '0x1', 'abc', 'zz', `0x${'g'.repeat(130)}`, `${anySignature}${'6492'.repeat(16)}`])(
  'no node is asked about the signature %j',
  async (signature) => {
    const address = await world.place(credulousWallet)
    expect(await verifyContractSignIn({ message, address, signature }, nodes({ rpcUrls: [] }))).toBe(false)
  },
)

test('a node of another chain is not believed, whatever it says', async () => {
  const liar = await startJsonRpcNode(({ method }) => ({
    result: method === 'eth_chainId' ? '0x1' : `0x1626ba7e${'0'.repeat(56)}`,
  }))
  const proof = { message, address: Wallet.createRandom().address, signature: anySignature }
  try {
    await expect(verifyContractSignIn(proof, nodes({ rpcUrls: [liar.url] }))).rejects.toThrow(
      ChainUnavailable,
    )
    const both = nodes({ rpcUrls: [liar.url, ...nodes().rpcUrls] })
    expect(await verifyContractSignIn(proof, both)).toBe(false)
  } finally {
    await liar.close()
  }
})

test('a node that says yes to everything is not believed while another says no', async () => {
  const liar = await startJsonRpcNode(({ method }) => ({
    result: method === 'eth_chainId' ? '0x14a34' : `0x1626ba7e${'0'.repeat(56)}`,
  }))
  const proof = { message, address: Wallet.createRandom().address, signature: anySignature }
  try {
    expect(await verifyContractSignIn(proof, nodes({ rpcUrls: [liar.url] }))).toBe(true)
    for (const rpcUrls of [
      [liar.url, ...nodes().rpcUrls],
      [...nodes().rpcUrls, liar.url],
    ])
      expect(await verifyContractSignIn(proof, nodes({ rpcUrls }))).toBe(false)
  } finally {
    await liar.close()
  }
})

test('a node that is away does not speak for a contract or against it', async () => {
  const owner = await world.newWallet()
  const address = await world.newSmartWallet(owner)
  const proof = { message, address, signature: await owner.signMessage(message) }
  const rpcUrls = ['http://127.0.0.1:1', ...nodes().rpcUrls]
  expect(await verifyContractSignIn(proof, nodes({ rpcUrls }))).toBe(true)
})

test('where no node answers nothing is known', async () => {
  const proof = { message, address: Wallet.createRandom().address, signature: anySignature }
  const away = nodes({ rpcUrls: ['http://127.0.0.1:1'] })
  await expect(verifyContractSignIn(proof, away)).rejects.toThrow(ChainUnavailable)
})
