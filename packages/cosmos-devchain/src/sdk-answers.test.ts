import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueryAccountRequest } from 'cosmjs-types/cosmos/auth/v1beta1/query'
import { QueryBalanceRequest } from 'cosmjs-types/cosmos/bank/v1beta1/query'
import { ConfigResponse } from 'cosmjs-types/cosmos/base/node/v1beta1/query'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { callRpc } from './call-rpc'
import { startNode } from './node/node'
import { openNode, type TestNode } from './testing/node'
import { broadcast, deliver, fundedWallet, newWallet, signedTx, type Wallet } from './testing/tx'

let node: TestNode
let wallet: Wallet
beforeAll(async () => (node = await openNode()))
beforeEach(async () => (wallet = await fundedWallet(node)))
afterEach(() => node.call('dev_dropPending'))
afterAll(() => node.close())

async function query(path: string, request: Uint8Array = new Uint8Array()) {
  const answer = await node.call('abci_query', path, Buffer.from(request).toString('hex'), '0', false)
  const { code, log, value, height } = (
    answer as { response: { code: number; log: string; value: string | null; height: string } }
  ).response
  return { code, log, value, height }
}
const account = (address: string) => QueryAccountRequest.encode({ address }).finish()
const balanceOf = (address: string) => QueryBalanceRequest.encode({ address, denom: 'uatom' }).finish()
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

describe('a query, as the SDK answers it', () => {
  test.each([
    ['', 18, 'Address cannot be empty', 'empty address string is not allowed'],
    ['x', 18, 'invalid bech32 string length 1', 'invalid bech32 string length 1'],
    ['cosmos1x', 18, 'invalid separator index 6', 'invalid separator index 6'],
    ['osmo1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqmcn030', 6, 'hrp does not match', 'hrp does not match'],
  ])('names what is wrong with the address %j', async (address, code, inAuth, inBank) => {
    expect(await query('/cosmos.auth.v1beta1.Query/Account', account(address))).toMatchObject({
      code,
      log: expect.stringContaining(inAuth) as string,
    })
    const { log } = await query('/cosmos.bank.v1beta1.Query/Balance', balanceOf(address))
    expect(log).toMatch(/^rpc error: code = InvalidArgument desc = invalid address: /)
    expect(log).toContain(inBank)
  })

  test('prints the price of gas with its 18 decimals, and no price of zero', async () => {
    const price = async () => {
      const { value } = await query('/cosmos.base.node.v1beta1.Service/Config')
      return ConfigResponse.decode(Buffer.from(value ?? '', 'base64')).minimumGasPrice
    }
    expect(await price()).toBe('0.025000000000000000uatom')
    await node.call('dev_setMinimumGasPrice', '0uatom')
    expect(await price()).toBe('')
    await node.call('dev_setMinimumGasPrice', '0.025uatom')
  })

  test.each([
    ['', 'no query path provided: unknown request'],
    ['/nothing', 'unknown query path: unknown request'],
    ['/app/nothing', 'unknown query: [app nothing]: unknown request'],
  ])('refuses the path %j (6)', async (path, log) => {
    expect(await query(path)).toMatchObject({ code: 6, log })
  })
})

describe('a refusal, as the SDK words it', () => {
  test('names the sequence in amino, and the reason in no other mode', async () => {
    const changed = { changeSignature: () => new Uint8Array(64) }
    const amino = { ...changed, mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON }
    expect((await broadcast(node, signedTx(node, wallet, amino))).log).toMatch(
      /account number \(\d+\), sequence \(0\) and chain-id \(tollgate-devnet-1\): unauthorized$/,
    )
    expect((await broadcast(node, signedTx(node, wallet, changed))).log).toMatch(
      /account number \(\d+\) and chain-id \(tollgate-devnet-1\): \(unable to verify single signer signature\): unauthorized$/,
    )
  })

  test('says twice that a transaction cannot be parsed', async () => {
    const changed = { changeBodyBytes: (bytes: Uint8Array) => Uint8Array.from([...bytes, 0x78, 1]) }
    expect((await broadcast(node, signedTx(node, wallet, changed))).log).toBe(
      'errUnknownField "*tx.TxBody": {TagNum: 15, WireType:"varint"}: tx parse error: tx parse error',
    )
  })

  test('names no message where the gas runs out in one', async () => {
    const outcome = await deliver(node, signedTx(node, wallet, { fee: { gasLimit: 60_000n } }))
    expect(outcome).toMatchObject({
      code: 11,
      log: expect.stringMatching(/^out of gas in location/) as string,
    })
  })

  test('prints the addresses of a grant that is missing as bytes', async () => {
    const { log } = await broadcast(node, signedTx(node, wallet, { fee: { granter: newWallet().address } }))
    expect(log).toMatch(/does not allow to pay fees for .*: fee-grant not found: not found$/s)
    expect(log).not.toContain('cosmos1')
  })
})

test('a block names the parts that it consists of', async () => {
  const { result } = (await (await fetch(`${node.rpcUrl}/block`)).json()) as {
    result: { block_id: { parts: { total: number } } }
  }
  expect(result.block_id.parts.total).toBe(1)
})

test('a transaction that is checked counts for the checks after it, until the next block', async () => {
  const bytes = base64(signedTx(node, wallet))
  expect(await node.call('check_tx', bytes)).toMatchObject({ code: 0 })
  expect(await node.call('check_tx', bytes)).toMatchObject({ code: 32 })
  node.chain.mine()
  expect(await node.call('check_tx', bytes)).toMatchObject({ code: 0 })
})

describe('a node between its start and the next block', () => {
  test('checks at height 0, and simulates as before', async () => {
    const late = signedTx(node, wallet, { signed: { accountNumber: 0n }, body: { timeoutHeight: 1n } })
    await node.call('dev_restart')
    expect(await broadcast(node, late)).toMatchObject({ code: 0 })
    expect(node.chain.mempool.simulate(signedTx(node, wallet, { sequence: 1n }))).toMatchObject({ code: 0 })
    node.chain.mine()
    expect(node.chain.mempool.size()).toBe(0)
  })

  test('is one whose process was started on a chain that is there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-cosmos-'))
    const start = () =>
      startNode({ chainId: 'tollgate-devnet-1', folder, port: 0, instance: '', blockSeconds: 3600 })
    const first = await start()
    await callRpc(first.rpcUrl, 'dev_fund', wallet.address, '1000000uatom')
    await first.stop()

    const { chain, rpcUrl, stop } = await start()
    const bytes = base64(signedTx({ chain }, wallet))
    expect(await callRpc(rpcUrl, 'broadcast_tx_sync', bytes)).toMatchObject({
      code: 4,
      log: expect.stringContaining('account number (0)') as string,
    })
    chain.mine()
    expect(await callRpc(rpcUrl, 'broadcast_tx_sync', bytes)).toMatchObject({ code: 0 })
    await stop()
    rmSync(folder, { recursive: true })
  })
})
