import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromHex } from '@cosmjs/encoding'
import { QueryBalanceRequest } from 'cosmjs-types/cosmos/bank/v1beta1/query'
import { QueryAllowancesByGranterRequest } from 'cosmjs-types/cosmos/feegrant/v1beta1/query'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { SimulateRequest, SimulateResponse } from 'cosmjs-types/cosmos/tx/v1beta1/service'
import { COSMOS_CHAIN_ID } from '../start-cosmos'
import { openNode, type TestNode } from '../testing/node'
import { aminoRefusals, directRefusals } from '../testing/refusal-cases'
import { newWallet, sendMessage } from '../testing/tx'
import { developmentCosmosSigner, developmentCosmosWallets } from '../wallets'
import { outcomeOf, shapeOf, wordsOf } from './normalize'
import { paymentsBetween } from './payments'
import { createPeer, type Peer, type TxAnswer } from './peer'
import { findProgram } from './program'
import { bodies, calls, paths, queries } from './questions'
import { startSdkChain } from './sdk-chain'

const BUILD_TIMEOUT_MS = 30 * 60_000
/** The development chain also accepts Ethereum keys and extension options, which the SDK does not know. */
const ETHEREUM_ONLY = [
  'the same bytes as a key of the other kind',
  'an extension option',
  'a non-critical extension option',
]
/** The gas of the SDK depends on the bytes of its own stores. */
const GAS_TOLERANCE = 0.15
const SIMULATE = '/cosmos.tx.v1beta1.Service/Simulate'
const ALLOWANCES = '/cosmos.feegrant.v1beta1.Query/AllowancesByGranter'
const BALANCE = '/cosmos.bank.v1beta1.Query/Balance'

const found = findProgram()
const describeOrSkip = 'build' in found ? describe : describe.skip
const title = 'build' in found ? '' : ` (skipped: ${found.skipReason})`
// Jest does not print the name of a suite whose tests are all skipped.
if (title !== '') process.stdout.write(`the Cosmos SDK comparison${title}\n`)

const walletOf = ({ privateKey }: { privateKey: string }) =>
  newWallet('secp256k1', Buffer.from(fromHex(privateKey.slice(2))))
const [payer, granter] = [walletOf(developmentCosmosWallets[0]!), walletOf(developmentCosmosWallets[1]!)]
const other = walletOf(developmentCosmosWallets[2]!)
const grantee = newWallet()
const unused = newWallet()
const payments = paymentsBetween(payer, granter, grantee)
const accounts = [...developmentCosmosWallets, developmentCosmosSigner].map(({ address }) => ({
  address,
  coins: '10000000000uatom',
}))

describeOrSkip(`the development chain beside the Cosmos SDK${title}`, () => {
  let node: TestNode
  let home: string
  let sdkChain: Awaited<ReturnType<typeof startSdkChain>>
  let ours: Peer
  let theirs: Peer

  const startTheirs = async (options: { blockSeconds: number; services?: boolean; folder?: string }) => {
    if (!('build' in found)) throw new Error(found.skipReason)
    return startSdkChain({
      program: await found.build(),
      home: options.folder ?? home,
      chainId: COSMOS_CHAIN_ID,
      accounts,
      ...options,
    })
  }

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'tollgate-sdk-chain-'))
    node = await openNode({ pace: 'at-once' })
    sdkChain = await startTheirs({ blockSeconds: 0.2 })
    ours = createPeer('development chain', node.rpcUrl, COSMOS_CHAIN_ID)
    theirs = createPeer('Cosmos SDK', sdkChain.rpcUrl, COSMOS_CHAIN_ID)
    await theirs.whenHeight(3)
    await node.call('dev_mine', '3')
    for (const [to, amount] of [
      [unused, '1000000'],
      [grantee, '100'],
    ] as const)
      await both(async (peer) => {
        const messages = [sendMessage(payer.address, to.address, amount)]
        return peer.deliver(await peer.sign(payer, { messages }))
      })
  }, BUILD_TIMEOUT_MS)

  afterAll(async () => {
    await sdkChain.stop()
    await node.close()
    rmSync(home, { recursive: true })
  })

  async function both<T>(ask: (peer: Peer) => Promise<T>): Promise<[own: T, sdk: T]> {
    return [await ask(ours), await ask(theirs)]
  }

  async function expectSame(ask: (peer: Peer) => Promise<unknown>) {
    const [own, sdk] = await both(ask)
    expect(own).toEqual(sdk)
  }

  describe('answers abci_query for', () => {
    test.each(queries)('%s', async (_, path, request) => {
      await expectSame(async (peer) => {
        const { code, codespace, log, value } = await peer.query(path, request)
        return { code, codespace, log: wordsOf(log), value }
      })
    })

    test.each([
      ['a height that is ahead', 99_999_999],
      ['a negative height', -1],
    ])('%s', async (_, height) => {
      const request = QueryBalanceRequest.encode({ address: payer.address, denom: 'uatom' }).finish()
      await expectSame((peer) => peer.query(BALANCE, request, height).then(shapeOf))
    })
  })

  describe('answers JSON-RPC for', () => {
    test.each(calls)('%s', async (_, method, params) => {
      await expectSame((peer) => peer.call(method, params).then(shapeOf))
    })

    test.each(paths)('GET %s', async (path) => {
      await expectSame(async ({ rpcUrl }) => {
        const response = await fetch(rpcUrl + path)
        const text = await response.text()
        return [response.status, text.startsWith('{') ? shapeOf(JSON.parse(text)) : text.trim()]
      })
    })

    test.each(bodies)('POST of %s', async (_, body) => {
      await expectSame(async ({ rpcUrl }) => {
        const response = await fetch(rpcUrl, {
          method: 'POST',
          body: body === undefined ? '{' : JSON.stringify(body),
        })
        const text = await response.text()
        return [response.status, text === '' ? '' : shapeOf(JSON.parse(text))]
      })
    })
  })

  describe.each([
    ['DIRECT', directRefusals, {}],
    ['LEGACY_AMINO_JSON', aminoRefusals, { mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON }],
  ] as const)('refuses a transaction in %s', (_, cases, common) => {
    test.each(cases.filter(([what]) => !ETHEREUM_ONLY.includes(what)))(
      'with %s: %s %i',
      async (_what, wantedCodespace, wantedCode, overrides) => {
        const change = overrides(unused)
        const [own, sdk] = await both(async (peer) => {
          const { result } = await peer.broadcast(await peer.sign(unused, { ...common, ...change }))
          const { code, codespace, log } = result as TxAnswer
          // The log of an unregistered error depends on the bytes of the signature.
          return { code, codespace, log: codespace === 'undefined' ? '' : wordsOf(log) }
        })
        expect(sdk).toMatchObject({ code: wantedCode, codespace: wantedCodespace })
        expect(own).toEqual(sdk)
      },
    )
  })

  describe('carries out a payment', () => {
    test.each(payments)('$what', async ({ from, overrides }) => {
      const [own, sdk] = await both(async (peer) => {
        const bytes = await peer.sign(from, overrides)
        const simulated = await simulate(peer, bytes)
        const { tx, hash } = await peer.deliver(bytes)
        return { simulated, gas: Number(tx.gas_used ?? 0), outcome: outcomeOf(tx), isIncluded: hash !== '' }
      })
      expect(own.outcome).toEqual(sdk.outcome)
      expect(own.simulated).toEqual(sdk.simulated)
      expect(Math.abs(own.gas - sdk.gas)).toBeLessThanOrEqual(sdk.gas * GAS_TOLERANCE)
    })

    test('and ends with the same accounts, balances and allowances', async () => {
      await expectSame(async (peer) =>
        Promise.all(
          [payer, granter, grantee].map(async ({ address }) => {
            const balance = QueryBalanceRequest.encode({ address, denom: 'uatom' }).finish()
            const { sequence, pubKey } = await peer.account(address)
            const granted = QueryAllowancesByGranterRequest.fromPartial({ granter: address })
            const allowances = QueryAllowancesByGranterRequest.encode(granted).finish()
            return [
              sequence,
              pubKey,
              (await peer.query(BALANCE, balance)).value,
              (await peer.query(ALLOWANCES, allowances)).value,
            ]
          }),
        ),
      )
    })
  })

  describe('finds an included payment', () => {
    let included: Map<Peer, { hash: string; height: number }>
    beforeAll(async () => {
      const send = async (peer: Peer) => {
        const bytes = await peer.sign(payer, { messages: [sendMessage(payer.address, grantee.address, '1')] })
        return [peer, await peer.deliver(bytes)] as const
      }
      included = new Map(await both(send))
    })
    const of = (peer: Peer) => included.get(peer) ?? { hash: '', height: 0 }
    const bytesOf = (hash: string) => Buffer.from(hash, 'hex').toString('base64')

    test.each([
      ['tx', (peer: Peer) => peer.call('tx', { hash: bytesOf(of(peer).hash), prove: false })],
      ['GET tx', (peer: Peer) => peer.get(`/tx?hash=0x${of(peer).hash}`)],
      ['tx_search by hash', (peer: Peer) => peer.call('tx_search', { query: `tx.hash='${of(peer).hash}'` })],
      [
        'tx_search by height',
        (peer: Peer) => peer.call('tx_search', { query: `tx.height=${of(peer).height}` }),
      ],
      [
        'tx_search by events, newest first',
        (peer: Peer) => {
          const query = `transfer.recipient='${grantee.address}' AND message.sender='${payer.address}'`
          return peer.call('tx_search', { query, per_page: '1', order_by: 'desc' })
        },
      ],
      ['block', (peer: Peer) => peer.call('block', { height: String(of(peer).height) })],
    ] as const)('by %s', async (_, ask) => {
      await expectSame(async (peer) => withoutTx(shapeOf((await ask(peer)).result)))
    })

    test('and takes it no second time', async () => {
      await expectSame(async (peer) => {
        const found = (await peer.call('tx', { hash: bytesOf(of(peer).hash), prove: false })).result
        const { result, error } = await peer.call('broadcast_tx_sync', { tx: (found as { tx: string }).tx })
        return { result, error }
      })
    })
  })

  test('without gRPC and REST no service answers for the node', async () => {
    await sdkChain.stop()
    sdkChain = await startTheirs({ blockSeconds: 0.2, services: false })
    theirs = createPeer('Cosmos SDK', sdkChain.rpcUrl, COSMOS_CHAIN_ID)
    await node.call('dev_setServices', false)
    const nodeQueries = queries.filter(([, path]) => path.includes('.Service/'))
    expect(nodeQueries).toHaveLength(2)
    for (const [, path, request] of nodeQueries)
      await expectSame(async (peer) => {
        const { code, codespace, log } = await peer.query(path, request)
        return { path, code, codespace, log }
      })
    await node.call('dev_setServices', true)
  })

  describe('between a start and the next block', () => {
    beforeAll(async () => {
      await node.call('dev_setPace', 'stopped')
      await sdkChain.stop()
      sdkChain = await startTheirs({ blockSeconds: 8 })
      theirs = createPeer('Cosmos SDK', sdkChain.rpcUrl, COSMOS_CHAIN_ID)
      await node.call('dev_restart')
    })
    afterAll(() => node.call('dev_setPace', 'at-once'))

    test.each([
      ['of an account', granter, {}],
      ['in amino', granter, { mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON }],
      ['with account number 0', other, { signed: { accountNumber: 0n } }],
      ['of the first account, with a timeout height that is past', payer, { body: { timeoutHeight: 1n } }],
    ] as const)('a check of a payment %s runs at height 0', async (_, from, overrides) => {
      await expectSame(async (peer) => {
        const tx = Buffer.from(await peer.sign(from, overrides)).toString('base64')
        const { code, codespace, log } = (await peer.call('check_tx', { tx })).result as TxAnswer
        return { code, codespace, log }
      })
    })

    test('a simulation and a query answer as before', async () => {
      await expectSame(async (peer) => simulate(peer, await peer.sign(granter)))
    })

    test('a payment is refused, and taken after the block', async () => {
      const [own, sdk] = await both((peer) => peer.sign(granter))
      await expectSame(async (peer) => {
        const { result } = await peer.broadcast(peer === ours ? own : sdk)
        const { code, codespace, log } = result as TxAnswer
        return { code, codespace, log }
      })
      await node.call('dev_mine', '1')
      await node.call('dev_setPace', 'at-once')
      await theirs.whenHeight((await theirs.height()) + 1)
      await expectSame(async (peer) => outcomeOf((await peer.deliver(peer === ours ? own : sdk)).tx))
    })
  })

  async function simulate(peer: Peer, txBytes: Uint8Array) {
    const request = SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes })).finish()
    const { code, codespace, log, value } = await peer.query(SIMULATE, request)
    const { result } = SimulateResponse.decode(Buffer.from(value ?? '', 'base64'))
    return { code, codespace, log: wordsOf(log), events: result?.events.map(({ type }) => type) }
  }
})

/** Removes the bytes of the transaction, which differ by account number. */
function withoutTx(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, member: unknown) => (key === 'tx' || key === 'txs' ? '(tx)' : member)),
  )
}
