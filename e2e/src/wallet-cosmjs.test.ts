import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { tollgateRpcClient, type TollgateRpcClientOptions } from '@tollgate/wallet/cosmjs'
import { DirectSecp256k1Wallet } from '@cosmjs/proto-signing'
import { assertIsDeliverTxSuccess, coins, SigningStargateClient, StargateClient } from '@cosmjs/stargate'
import { Comet38Client } from '@cosmjs/tendermint-rpc'
import { randomBytes } from 'node:crypto'
import { COSMOS_FEE } from './testing/cosmos-wallet'
import { openRecordingTollgate, type RecordingTollgate } from './testing/recording-tollgate'
import { startWorld, type World } from './testing/world'

const BALANCE = 1_000_000n
const fee = { amount: coins(COSMOS_FEE.toString(), 'uatom'), gas: '150000' }

let world: World
let tollgate: RecordingTollgate

beforeAll(async () => {
  world = await startWorld()
  tollgate = await openRecordingTollgate(world)
}, 120_000)
afterAll(() => world.stop(), 30_000)

const cometOf = (options: TollgateRpcClientOptions = {}, chain = world.cosmosPlan.chain_id) =>
  Comet38Client.create(tollgateRpcClient(tollgate, chain, options))

const reader = (options?: TollgateRpcClientOptions, chain?: string) =>
  StargateClient.create(cometOf(options, chain))

async function newSigner(uatom = BALANCE) {
  const signer = await DirectSecp256k1Wallet.fromKey(randomBytes(32), 'cosmos')
  const [account] = await signer.getAccounts()
  const { address } = account!
  if (uatom > 0n) await fundCosmosWallet(world.infrastructure.cosmos.rpcUrl, address, `${uatom}uatom`)
  const client = SigningStargateClient.createWithSigner(cometOf(), signer, { broadcastPollIntervalMs: 100 })
  return { address, client }
}

test.each(['tollgate-devnet-1', 'cosmos:tollgate-devnet-1'])(
  'reads the chain %s and an account',
  async (chain) => {
    const client = reader({}, chain)
    const { address } = await newSigner()
    expect(await client.getChainId()).toBe('tollgate-devnet-1')
    const height = await client.getHeight()
    expect((await client.getBlock(height)).header).toMatchObject({ chainId: 'tollgate-devnet-1', height })
    expect(await client.getBalance(address, 'uatom')).toEqual({ denom: 'uatom', amount: String(BALANCE) })
    expect(await client.getAccount(address)).toMatchObject({ address, sequence: 0 })
  },
)

test('sends tokens, waits for the block, and finds the transaction by its hash', async () => {
  const { address, client } = await newSigner()
  const recipient = await newSigner(0n)
  const sent = await client.sendTokens(address, recipient.address, coins(7, 'uatom'), fee, 'with thanks')
  assertIsDeliverTxSuccess(sent)
  expect(await client.getTx(sent.transactionHash)).toMatchObject({
    hash: sent.transactionHash,
    height: sent.height,
    code: 0,
  })
  expect((await client.getBalance(recipient.address, 'uatom')).amount).toBe('7')
  expect(await client.getSequence(address)).toMatchObject({ sequence: 1 })
  const found = await client.searchTx([{ key: 'message.sender', value: address }])
  expect(found.map(({ hash }) => hash)).toEqual([sent.transactionHash])
})

test('simulates, signs apart from broadcasting, and gets the code of what fails', async () => {
  const { address, client } = await newSigner()
  const send = (amount: bigint) => ({
    typeUrl: '/cosmos.bank.v1beta1.MsgSend',
    value: {
      fromAddress: address,
      toAddress: world.cosmosPlan.pay_to,
      amount: coins(amount.toString(), 'uatom'),
    },
  })
  const gas = await client.simulate(address, [send(1n)], '')
  expect(gas).toBeGreaterThan(0)
  const hash = await client.signAndBroadcastSync(address, [send(1n)], { ...fee, gas: String(2 * gas) })
  expect(hash).toMatch(/^[0-9A-F]{64}$/)

  const poor = await newSigner(COSMOS_FEE)
  const failed = await poor.client.sendTokens(poor.address, address, coins(1, 'uatom'), fee)
  // `insufficient funds` of the Cosmos SDK
  expect(failed.code).toBe(5)
})

test('an error of the node is thrown with its text', async () => {
  await expect(cometOf().block(1_000_000)).rejects.toThrow('must be less than or equal to')
  expect(await reader().getTx('00'.repeat(32))).toBeNull()
})

test('with batching fifty calls at once are five requests, as large as a node takes, each call with its own answer', async () => {
  const client = cometOf({ batch: true })
  const before = tollgate.sent.length
  const heights = Array.from({ length: 50 }, (_, index) => (index % 2) + 1)
  const blocks = await Promise.all(heights.map((height) => client.block(height)))
  expect(blocks.map(({ block }) => block.header.height)).toEqual(heights)
  expect(tollgate.sent.slice(before).map((body) => (body as unknown[]).length)).toEqual([10, 10, 10, 10, 10])
})

test('fifty calls at once without batching', async () => {
  const client = reader()
  const signers = await Promise.all([1n, 2n, 3n].map((amount) => newSigner(amount)))
  const asked = Array.from({ length: 50 }, (_, index) => index % 3)
  const balances = await Promise.all(
    asked.map((index) => client.getBalance(signers[index]!.address, 'uatom')),
  )
  expect(balances.map(({ amount }) => amount)).toEqual(asked.map((index) => String(index + 1)))
})
