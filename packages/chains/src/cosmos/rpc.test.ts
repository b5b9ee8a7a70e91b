import { setTimeout as delay } from 'node:timers/promises'
import { ChainUnavailable } from '../errors'
import { startNode } from '../json-rpc/testing/node'
import { HASH, metaOf, rpcTo, startComet, statusOf, txOf } from './testing/comet'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function comet(...parts: Parameters<typeof startComet>) {
  const node = await startComet(...parts)
  closing.push(() => node.close())
  return node
}
function rpc(...nodes: { url: string }[]) {
  const own = rpcTo(nodes.map(({ url }) => url))
  closing.push(() => own.close())
  return own
}
const methodsOf = ({ requests }: Awaited<ReturnType<typeof comet>>) =>
  requests.flat().map(({ method }) => method)

const bytes = Uint8Array.of(1, 2, 3)
const tx = txOf(bytes, 40)

describe('a node of a Cosmos chain', () => {
  test('returns its newest block', async () => {
    expect(await rpc(await comet()).newestBlock()).toEqual({
      number: 50n,
      hash: HASH,
      timestamp: BigInt(Date.UTC(2026, 0, 2, 3, 4, 5) / 1000),
    })
  })

  test('is not used where it is on another chain, or is still catching up', async () => {
    const sound = await comet()
    for (const [status, problem] of [
      [statusOf(90, 'cosmoshub-4'), 'is on chain cosmoshub-4, not tollgate-devnet-1'],
      [statusOf(90, undefined, true), 'is still catching up with its chain'],
      [{ result: {} }, 'does not return its chain id'],
    ] as const) {
      const odd = await comet({ status: () => status })
      expect(await rpc(odd, sound).newestBlock()).toMatchObject({ number: 50n })
      expect(methodsOf(odd)).toEqual(['status'])
      await expect(rpc(odd).newestBlock()).rejects.toThrow(`endpoint 1 ${problem}`)
    }
  })

  test('is left while its height stalls', async () => {
    let height = 1000
    const still = await comet()
    const going = await comet({ status: () => statusOf(++height) })
    const own = rpcTo([still.url, going.url], {}, 20)
    closing.push(() => own.close())
    const deadline = performance.now() + 20_000
    while ((await own.newestBlock()).number < 1000n) {
      if (performance.now() > deadline) throw new Error('still uses the stalled node')
      await delay(5)
    }
  })

  test('gets at most ten requests in a batch', async () => {
    const node = await comet({ tx: () => ({ result: tx }) })
    const own = rpc(node)
    await Promise.all(Array.from({ length: 23 }, () => own.tx(tx.hash)))
    expect(node.requests.map((messages) => messages.length)).toEqual([1, 10, 10, 3])
  })

  test('is skipped if its height is no safe integer', async () => {
    const odd = await comet({ status: () => statusOf(2 ** 53) })
    await expect(rpc(odd).newestBlock()).rejects.toThrow(ChainUnavailable)
  })

  test('is quoted in the error', async () => {
    const without = await comet({ tx: () => ({ problem: 'transaction indexing is disabled' }) })
    await expect(rpc(without).tx(tx.hash)).rejects.toThrow('Internal error: transaction indexing is disabled')
  })
})

describe('a transaction', () => {
  test('is found by its hash, with its result', async () => {
    const own = rpc(await comet({ tx: () => ({ result: tx }) }))
    expect(await own.tx(tx.hash)).toEqual({
      hash: tx.hash,
      height: 40n,
      code: 0,
      codespace: '',
      log: '',
      isCharged: true,
      txBytes: bytes,
    })
  })

  test('is requested by the base64 of its hash', async () => {
    const node = await comet({ tx: () => ({ result: tx }) })
    await rpc(node).tx(tx.hash)
    expect(node.requests.flat().at(-1)?.params).toEqual({
      hash: Buffer.from(tx.hash, 'hex').toString('base64'),
      prove: false,
    })
  })

  test('is undefined if the node finds none', async () => {
    const without = await comet({ tx: () => ({ problem: `tx (${tx.hash}) not found` }) })
    expect(await rpc(without, await comet({ tx: () => ({ result: tx }) })).tx(tx.hash)).toBeUndefined()
  })

  test.each<[string, unknown]>([
    ['another transaction', txOf(Uint8Array.of(9), 40)],
    ['the requested hash with other bytes', { ...tx, tx: 'CQ==' }],
    ['no height', { ...tx, height: '-1' }],
    ['a code that is no number', { ...tx, tx_result: { ...tx.tx_result, code: 'ok' } }],
    ['nothing', null],
  ])('is not accepted from a node that returns %s', async (_, result) => {
    const odd = await comet({ tx: () => ({ result }) })
    await expect(rpc(odd).tx(tx.hash)).rejects.toThrow(ChainUnavailable)
    expect(await rpc(odd, await comet({ tx: () => ({ result: tx }) })).tx(tx.hash)).toMatchObject({ code: 0 })
  })

  test('that failed is charged only if it has events', async () => {
    const failed = (events: unknown) => ({
      ...tx,
      tx_result: { code: 5, codespace: 'sdk', log: 'no', events },
    })
    for (const [events, isCharged] of [
      [[{ type: 'tx' }], true],
      [[], false],
      [null, false],
    ] as const)
      expect(await rpc(await comet({ tx: () => ({ result: failed(events) }) })).tx(tx.hash)).toMatchObject({
        code: 5,
        isCharged,
      })
  })

  test('is found by the sequence that it used, not by one that it only named', async () => {
    const uncharged = {
      ...txOf(Uint8Array.of(9), 40),
      tx_result: { code: 32, codespace: 'sdk', log: '', events: [] },
    }
    const node = await comet({ tx_search: () => ({ result: { txs: [uncharged, tx], total_count: '2' } }) })
    expect(await rpc(node).txOfSequence('cosmos1x', 3n)).toMatchObject({ hash: tx.hash })
    expect(node.requests.flat().at(-1)?.params).toMatchObject({ query: "tx.acc_seq='cosmos1x/3'" })
    const none = await comet({ tx_search: () => ({ result: { txs: [], total_count: '0' } }) })
    expect(await rpc(none).txOfSequence('cosmos1x', 3n)).toBeUndefined()
  })
})

describe('a block', () => {
  const at = (height: number, chainId?: string) => () => ({
    result: { last_height: '50', block_metas: [metaOf(height, chainId)] },
  })
  test('is found by its height', async () => {
    expect(await rpc(await comet({ blockchain: at(40) })).blockAt(40n)).toMatchObject({
      number: 40n,
      hash: HASH,
    })
  })

  test('is undefined above the height of the node, and unavailable if it was pruned', async () => {
    const range = (problem: string) => comet({ blockchain: () => ({ problem }) })
    const behind = await range("min height 60 can't be greater than max height 50")
    expect(await rpc(behind).blockAt(60n)).toBeUndefined()
    const pruned = await range("min height 45 can't be greater than max height 40")
    await expect(rpc(pruned).blockAt(40n)).rejects.toThrow('has pruned block 40')
  })

  test.each([
    ['of another height', at(41)],
    ['of another chain', at(40, 'cosmoshub-4')],
    ['of no block', () => ({ result: { last_height: '50', block_metas: [] } })],
  ])('is not accepted from a node that returns one %s', async (_, blockchain) => {
    const odd = await comet({ blockchain })
    await expect(rpc(odd).blockAt(40n)).rejects.toThrow(ChainUnavailable)
    expect(await rpc(odd, await comet({ blockchain: at(40) })).blockAt(40n)).toMatchObject({ number: 40n })
  })
})

describe('a broadcast transaction', () => {
  const result = { code: 0, codespace: '', log: '[]', data: '', hash: tx.hash }

  test('counts as accepted for some seconds once a node accepted it, or had it', async () => {
    const own = rpc(await comet({ broadcast_tx_sync: () => ({ result }) }))
    expect(own.wasAccepted(tx.hash)).toBe(false)
    expect(await own.broadcast(bytes)).toMatchObject({ code: 0 })
    expect(own.wasAccepted(tx.hash)).toBe(true)

    const again = rpc(await comet({ broadcast_tx_sync: () => ({ problem: 'tx already exists in cache' }) }))
    expect(await again.broadcast(bytes)).toMatchObject({ code: 19, codespace: 'sdk' })
    expect(again.wasAccepted(tx.hash)).toBe(true)
  })

  test('is refused with the code of CheckTx, or for its size', async () => {
    const refusing = rpc(
      await comet({
        broadcast_tx_sync: () => ({ result: { ...result, code: 4, codespace: 'sdk', log: 'no' } }),
      }),
    )
    expect(await refusing.broadcast(bytes)).toMatchObject({ code: 4, codespace: 'sdk', log: 'no' })
    expect(refusing.wasAccepted(tx.hash)).toBe(false)
    const large = await comet({
      broadcast_tx_sync: () => ({ problem: 'Tx too large. Max size is 1, but got 3' }),
    })
    expect(await rpc(large).broadcast(bytes)).toMatchObject({ code: 21, codespace: 'sdk' })
  })

  test('is not refused if a node that may have accepted it gave no response', async () => {
    const behind = await comet()
    const silent = await startNode(async (messages, response, body) => {
      if (messages.some(({ method }) => method === 'broadcast_tx_sync')) response.destroy()
      else response.end(await (await fetch(behind.url, { method: 'POST', body })).text())
    })
    closing.push(() => silent.close())
    const refusing = await comet({
      broadcast_tx_sync: () => ({ result: { ...result, code: 7, codespace: 'feegrant', log: 'no' } }),
    })
    await expect(rpc(silent, refusing).broadcast(bytes)).rejects.toThrow(ChainUnavailable)
    expect(await rpc(refusing, silent).broadcast(bytes)).toMatchObject({ code: 7 })
    const taking = await comet({ broadcast_tx_sync: () => ({ result }) })
    expect(await rpc(silent, taking).broadcast(bytes)).toMatchObject({ code: 0 })
  })

  test('goes to the next node if one has a full mempool, or returns another transaction', async () => {
    const sound = await comet({ broadcast_tx_sync: () => ({ result }) })
    for (const odd of [
      await comet({
        broadcast_tx_sync: () => ({ problem: 'mempool is full: number of txs 5000 (max: 5000)' }),
      }),
      await comet({ broadcast_tx_sync: () => ({ result: { ...result, hash: HASH } }) }),
    ]) {
      expect(await rpc(odd, sound).broadcast(bytes)).toMatchObject({ code: 0 })
      await expect(rpc(odd).broadcast(bytes)).rejects.toThrow(ChainUnavailable)
    }
  })
})
