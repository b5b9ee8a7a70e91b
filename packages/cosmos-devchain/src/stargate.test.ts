import { Secp256k1Wallet } from '@cosmjs/amino'
import { DirectSecp256k1Wallet } from '@cosmjs/proto-signing'
import {
  assertIsDeliverTxSuccess,
  BroadcastTxError,
  GasPrice,
  QueryClient,
  setupBankExtension,
  setupFeegrantExtension,
  SigningStargateClient,
  StargateClient,
} from '@cosmjs/stargate'
import { openNode, type TestNode } from './testing/node'
import { newWallet } from './testing/tx'
import { developmentCosmosPayTo, developmentCosmosWallets } from './wallets'

let node: TestNode
const clients: { disconnect(): void }[] = []
beforeAll(async () => (node = await openNode({ pace: 'at-once' })))
afterAll(async () => {
  clients.forEach((client) => client.disconnect())
  await node.close()
})

const fee = { amount: [{ denom: 'uatom', amount: '5000' }], gas: '200000' }
const keyOf = (privateKey: string) => Uint8Array.from(Buffer.from(privateKey.slice(2), 'hex'))

describe.each([
  ['DirectSecp256k1Wallet', DirectSecp256k1Wallet, 0],
  ['Secp256k1Wallet, which signs in amino', Secp256k1Wallet, 1],
] as const)('@cosmjs/stargate with a %s', (_, wallets, index) => {
  const { address, privateKey } = developmentCosmosWallets[index]!
  let client: SigningStargateClient

  beforeAll(async () => {
    const wallet = await wallets.fromKey(keyOf(privateKey), 'cosmos')
    const [account] = await wallet.getAccounts()
    expect(account?.address).toBe(address)
    client = await SigningStargateClient.connectWithSigner(node.rpcUrl, wallet, {
      gasPrice: GasPrice.fromString('0.025uatom'),
      broadcastPollIntervalMs: 20,
    })
    clients.push(client)
  })

  test('connects, and reads the chain, its height, its blocks and what an account is', async () => {
    expect(client['getCometClient']()?.constructor.name).toBe('Comet38Client')
    expect(await client.getChainId()).toBe('tollgate-devnet-1')
    const height = await client.getHeight()
    const block = await client.getBlock(height)
    expect(block.header).toMatchObject({ height, chainId: 'tollgate-devnet-1' })
    expect(Math.abs(Date.now() - Date.parse(block.header.time))).toBeLessThan(600_000)
    expect((await client.getBlock()).id).toMatch(/^[0-9A-F]{64}$/)
    expect(await client.getAccount(address)).toEqual({
      address,
      pubkey: null,
      accountNumber: BigInt(index),
      sequence: 0,
    })
    expect(await client.getSequence(address)).toEqual({ accountNumber: BigInt(index), sequence: 0 })
    expect(await client.getBalance(address, 'uatom')).toEqual({ denom: 'uatom', amount: '10000000000' })
    expect(await client.getAccount(newWallet().address)).toBeNull()
    await expect(client.getSequence(newWallet().address)).rejects.toThrow(/does not exist on chain/)
  })

  test('signs and broadcasts a send with the fee that it worked out itself, and finds it again', async () => {
    const to = newWallet().address
    const message = {
      typeUrl: '/cosmos.bank.v1beta1.MsgSend',
      value: { fromAddress: address, toAddress: to, amount: [{ denom: 'uatom', amount: '7' }] },
    }
    const gas = await client.simulate(address, [message], 'hello')

    const result = await client.signAndBroadcast(address, [message], 'auto', 'hello')

    assertIsDeliverTxSuccess(result)
    expect(gas).toBeGreaterThan(40_000)
    expect(Number(result.gasUsed)).toBeLessThan(110_000)
    expect(await client.getBalance(to, 'uatom')).toEqual({ denom: 'uatom', amount: '7' })
    expect(result.msgResponses.map(({ typeUrl }) => typeUrl)).toEqual([
      '/cosmos.bank.v1beta1.MsgSendResponse',
    ])
    const hash = result.transactionHash
    const found = await client.getTx(hash)
    expect(found).toMatchObject({ hash, height: result.height, code: 0, txIndex: 0 })
    for (const query of [
      `tx.acc_seq='${address}/0'`,
      `transfer.recipient='${to}'`,
      [
        { key: 'message.sender', value: address },
        { key: 'tx.height', value: result.height },
      ],
    ])
      expect((await client.searchTx(query)).map((tx) => tx.hash)).toEqual([hash])
    expect((await client.getBlock(result.height)).txs).toEqual([found?.tx])
    expect(await client.getSequence(address)).toEqual({ accountNumber: BigInt(index), sequence: 1 })
    expect((await client.getAccount(address))?.pubkey?.type).toBe('tendermint/PubKeySecp256k1')
  })

  test('sends tokens, and many at once', async () => {
    const to = newWallet().address
    const { amount: before } = await client.getBalance(address, 'uatom')
    const sent = await client.sendTokens(address, to, [{ denom: 'uatom', amount: '5' }], fee, '<memo> & more')
    const many = await client.signAndBroadcast(
      address,
      [
        {
          typeUrl: '/cosmos.bank.v1beta1.MsgMultiSend',
          value: {
            inputs: [{ address, coins: [{ denom: 'uatom', amount: '3' }] }],
            outputs: [
              { address: to, coins: [{ denom: 'uatom', amount: '1' }] },
              { address: developmentCosmosPayTo.address, coins: [{ denom: 'uatom', amount: '2' }] },
            ],
          },
        },
      ],
      fee,
    )
    expect([sent.code, many.code]).toEqual([0, 0])
    expect(await client.getBalance(to, 'uatom')).toEqual({ denom: 'uatom', amount: '6' })
    const { amount: after } = await client.getBalance(address, 'uatom')
    expect(BigInt(before) - BigInt(after)).toBe(5n + 3n + 2n * 5000n)
  })

  test('is refused with the code of a real chain that a fee is too small, that coins are missing, and that a block failed it', async () => {
    const to = newWallet().address
    const poor = { ...fee, amount: [{ denom: 'uatom', amount: '1' }] }
    await expect(client.sendTokens(address, to, [{ denom: 'uatom', amount: '5' }], poor)).rejects.toEqual(
      new BroadcastTxError(13, 'sdk', 'insufficient fees; got: 1uatom required: 5000uatom: insufficient fee'),
    )
    const tooMuch = await client.sendTokens(address, to, [{ denom: 'uatom', amount: '99999999999' }], fee)
    expect(tooMuch).toMatchObject({ code: 5, rawLog: expect.stringMatching(/insufficient funds$/) as string })
    await expect(
      client.simulate(
        address,
        [
          {
            typeUrl: '/cosmos.bank.v1beta1.MsgSend',
            value: {
              fromAddress: address,
              toAddress: to,
              amount: [{ denom: 'uatom', amount: '99999999999' }],
            },
          },
        ],
        '',
      ),
    ).rejects.toThrow(/Query failed with \(6\): rpc error: code = Unknown .* insufficient funds/)
  })
})

test('the query extensions of @cosmjs/stargate read supply, metadata and fee grants', async () => {
  const reader = await StargateClient.connect(node.rpcUrl)
  clients.push(reader)
  const comet = reader['forceGetCometClient']()
  const queries = QueryClient.withExtensions(comet, setupBankExtension, setupFeegrantExtension)
  await node.call('dev_fund', newWallet().address, '9uusdc')

  expect(await queries.bank.supplyOf('uusdc')).toEqual({ denom: 'uusdc', amount: '9' })
  expect((await queries.bank.denomMetadata('uatom')).denomUnits.at(-1)).toMatchObject({
    denom: 'atom',
    exponent: 6,
  })
  await expect(queries.bank.denomMetadata('unknown')).rejects.toThrow(/\(22\)/)
  const [{ address: granter }, { address: grantee }] = [newWallet(), newWallet()]
  await expect(queries.feegrant.allowance(granter, grantee)).rejects.toThrow(/fee-grant not found/)
})

test('the status says what it is: for development', async () => {
  const { nodeInfo } = await (await StargateClient.connect(node.rpcUrl))['forceGetCometClient']().status()
  expect(nodeInfo.moniker).toMatch(/development/)
})
