import { createServer, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { startCosmos } from '@tollgate/cosmos-devchain'
import { BaseAccount, ModuleAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import { QueryAccountResponse } from 'cosmjs-types/cosmos/auth/v1beta1/query'
import {
  BaseVestingAccount,
  ContinuousVestingAccount,
  PeriodicVestingAccount,
} from 'cosmjs-types/cosmos/vesting/v1beta1/vesting'
import { createNode } from './node'

const ADDRESS = 'cosmos1pkptre7fdkl6gfrzlesjjvhxhlc3r4gmmk8rs6'
const CHAIN_ID = 'pretend-1'
const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** What a development chain never answers. Without an answer the server is silent. */
async function pretend(answer?: string, status = 200) {
  const server = createServer((_, response) => {
    if (answer !== undefined) response.writeHead(status).end(answer)
  })
  open.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Options = { signal?: AbortSignal; timeoutMs?: number; chainId?: string }

const nodeAt = (url: string, { signal, ...options }: Options = {}) =>
  createNode({ url, chainId: CHAIN_ID, stops: { closed: new AbortController().signal, signal }, ...options })

const queried = (value: Uint8Array) =>
  JSON.stringify({ result: { response: { code: 0, value: Buffer.from(value).toString('base64') } } })

const keyType = '/ethermint.crypto.v1.ethsecp256k1.PubKey'
const base = BaseAccount.fromPartial({ address: ADDRESS, accountNumber: 12n, sequence: 7n })
const used = { ...base, pubKey: { typeUrl: keyType, value: Uint8Array.of(10, 1, 5) } }
const vesting = BaseVestingAccount.fromPartial({ baseAccount: base, endTime: 9n })

test.each<[string, Uint8Array, object?]>([
  ['/cosmos.auth.v1beta1.BaseAccount', BaseAccount.encode(base).finish()],
  ['/cosmos.auth.v1beta1.BaseAccount', BaseAccount.encode(used).finish(), { keyType }],
  ['/cosmos.vesting.v1beta1.BaseVestingAccount', BaseVestingAccount.encode(vesting).finish()],
  [
    '/cosmos.vesting.v1beta1.ContinuousVestingAccount',
    ContinuousVestingAccount.encode({ baseVestingAccount: vesting, startTime: 5n }).finish(),
  ],
  [
    '/cosmos.vesting.v1beta1.PeriodicVestingAccount',
    PeriodicVestingAccount.encode({
      baseVestingAccount: vesting,
      startTime: 5n,
      vestingPeriods: [],
    }).finish(),
  ],
  // Its fields have the numbers of Ethermint's account: the base account and a hash.
  [
    '/ethermint.types.v1.EthAccount',
    ModuleAccount.encode({ baseAccount: used, name: 'hash', permissions: [] }).finish(),
    { keyType },
  ],
])('an account of the type %s is read', async (type, value, more = {}) => {
  const url = await pretend(
    queried(QueryAccountResponse.encode({ account: { typeUrl: type, value } }).finish()),
  )
  expect(await nodeAt(url).account(ADDRESS)).toEqual({ accountNumber: 12n, sequence: 7n, type, ...more })
})

const other = { ...base, address: 'cosmos1other' }
test.each([
  [
    'another account',
    queried(
      QueryAccountResponse.encode({
        account: { typeUrl: '', value: BaseAccount.encode(other).finish() },
      }).finish(),
    ),
  ],
  ['no account', queried(new Uint8Array())],
  ['a cut message', queried(Uint8Array.of(10, 200, 1))],
  ['no base64', JSON.stringify({ result: { response: { value: '%' } } })],
  ['no result', '{}'],
  ['no object', '7'],
])('%s is a malformed answer', async (_, answer) => {
  const url = await pretend(answer)
  await expect(nodeAt(url).account(ADDRESS)).rejects.toMatchObject({
    code: 'RPC_ERROR',
    message: expect.stringContaining('malformed') as string,
  })
})

test('an error of the node is thrown with its code', async () => {
  const url = await pretend(
    JSON.stringify({ error: { code: -32603, message: 'Internal error', data: 'x' } }),
    500,
  )
  await expect(nodeAt(url).height()).rejects.toMatchObject({
    code: 'RPC_ERROR',
    details: { code: -32603, message: 'Internal error', data: 'x' },
  })
})

const status = (network: string, isCatchingUp: boolean) =>
  JSON.stringify({
    result: {
      node_info: { network },
      sync_info: { latest_block_height: '41', catching_up: isCatchingUp },
    },
  })

test('the height is that of a node which is on the chain and up to date', async () => {
  expect(await nodeAt(await pretend(status(CHAIN_ID, false))).height()).toBe(41n)
  const code = 'RPC_ERROR'
  for (const answer of [status('other-1', false), status(CHAIN_ID, true)])
    await expect(nodeAt(await pretend(answer)).height()).rejects.toMatchObject({ code })
})

test('a node that is silent, gone, or no longer needed ends the question', async () => {
  const silent = await pretend()
  await expect(nodeAt(silent, { timeoutMs: 20 }).height()).rejects.toMatchObject({ code: 'TIMEOUT' })

  const controller = new AbortController()
  const asked = nodeAt(silent, { signal: controller.signal }).height()
  controller.abort()
  await expect(asked).rejects.toMatchObject({ code: 'ABORTED' })

  const url = await pretend('<html>')
  await expect(nodeAt(url).height()).rejects.toMatchObject({ code: 'RPC_ERROR' })
})

test('a node states its prices if it serves them, and a chain does not know a new address', async () => {
  const chain = await startCosmos()
  try {
    const node = nodeAt(chain.rpcUrl, { chainId: chain.chainId })
    expect(await node.minimumGasPrices()).toBe('0.025000000000000000uatom')
    await expect(node.account(ADDRESS)).rejects.toMatchObject({
      code: 'PAYMENT_REFUSED',
      message: expect.stringContaining(`${ADDRESS} has no account on ${chain.chainId} yet`) as string,
    })
    await fetch(chain.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'dev_setServices', params: [false] }),
    })
    expect(await node.minimumGasPrices()).toBe('')
  } finally {
    await chain.stop()
  }
})
