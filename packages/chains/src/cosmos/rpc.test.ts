import { setTimeout as delay } from 'node:timers/promises'
import { ChainUnavailable } from '../family'
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
const asked = ({ requests }: Awaited<ReturnType<typeof comet>>) => requests.flat().map(({ method }) => method)

const bytes = Uint8Array.of(1, 2, 3)
const tx = txOf(bytes, 40)

describe('a node of a Cosmos chain', () => {
  test('tells its newest block', async () => {
    expect(await rpc(await comet()).newestBlock()).toEqual({
      number: 50n,
      hash: HASH,
      timestamp: BigInt(Date.UTC(2026, 0, 2, 3, 4, 5) / 1000),
    })
  })

  test('is not used where it is on another chain, or has yet to catch up', async () => {
    const sound = await comet()
    for (const [status, told] of [
      [statusOf(90, 'cosmoshub-4'), 'is on chain cosmoshub-4, not tollgate-devnet-1'],
      [statusOf(90, undefined, true), 'has yet to catch up with its chain'],
      [{ result: {} }, 'does not tell its chain'],
    ] as const) {
      const odd = await comet({ status: () => status })
      expect(await rpc(odd, sound).newestBlock()).toMatchObject({ number: 50n })
      expect(asked(odd)).toEqual(['status'])
      await expect(rpc(odd).newestBlock()).rejects.toThrow(`endpoint 1 ${told}`)
    }
  })

  test('is left while its chain stands still, for one whose chain goes on', async () => {
    let height = 1000
    const still = await comet()
    const going = await comet({ status: () => statusOf(++height) })
    const own = rpcTo([still.url, going.url], {}, 20)
    closing.push(() => own.close())
    const deadline = performance.now() + 20_000
    while ((await own.newestBlock()).number < 1000n) {
      if (performance.now() > deadline) throw new Error('it goes on asking the one that stands still')
      await delay(5)
    }
  })

  test('is asked no more than ten questions in one request', async () => {
    const node = await comet({ tx: () => ({ result: tx }) })
    const own = rpc(node)
    await Promise.all(Array.from({ length: 23 }, () => own.tx(tx.hash)))
    expect(node.requests.map((messages) => messages.length)).toEqual([1, 10, 10, 3])
  })

  test('is passed over where it answers a height that no number holds', async () => {
    const odd = await comet({ status: () => statusOf(2 ** 53) })
    await expect(rpc(odd).newestBlock()).rejects.toThrow(ChainUnavailable)
  })

  test('is told by its own words where it does not answer', async () => {
    const without = await comet({ tx: () => ({ problem: 'transaction indexing is disabled' }) })
    await expect(rpc(without).tx(tx.hash)).rejects.toThrow('Internal error: transaction indexing is disabled')
  })
})

describe('a transaction', () => {
  test('is found by its hash, with what became of it', async () => {
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

  test('is asked for by the base64 of its hash', async () => {
    const node = await comet({ tx: () => ({ result: tx }) })
    await rpc(node).tx(tx.hash)
    expect(node.requests.flat().at(-1)?.params).toEqual({
      hash: Buffer.from(tx.hash, 'hex').toString('base64'),
      prove: false,
    })
  })

  test('is undefined where the node says that it has none', async () => {
    const without = await comet({ tx: () => ({ problem: `tx (${tx.hash}) not found` }) })
    expect(await rpc(without, await comet({ tx: () => ({ result: tx }) })).tx(tx.hash)).toBeUndefined()
  })

  test.each<[string, unknown]>([
    ['another transaction', txOf(Uint8Array.of(9), 40)],
    ['the hash asked for with other bytes', { ...tx, tx: 'CQ==' }],
    ['no height', { ...tx, height: '-1' }],
    ['a code that is no number', { ...tx, tx_result: { ...tx.tx_result, code: 'ok' } }],
    ['nothing', null],
  ])('is not believed where the node answers %s', async (_, result) => {
    const odd = await comet({ tx: () => ({ result }) })
    await expect(rpc(odd).tx(tx.hash)).rejects.toThrow(ChainUnavailable)
    expect(await rpc(odd, await comet({ tx: () => ({ result: tx }) })).tx(tx.hash)).toMatchObject({ code: 0 })
  })

  test('that failed is charged where it left events, and took nothing where it left none', async () => {
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

  test('is found by the sequence that it took, and by no sequence that it only asked for', async () => {
    const vain = {
      ...txOf(Uint8Array.of(9), 40),
      tx_result: { code: 32, codespace: 'sdk', log: '', events: [] },
    }
    const node = await comet({ tx_search: () => ({ result: { txs: [vain, tx], total_count: '2' } }) })
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
  test('is told by its height', async () => {
    expect(await rpc(await comet({ blockchain: at(40) })).blockAt(40n)).toMatchObject({
      number: 40n,
      hash: HASH,
    })
  })

  test('is undefined where the node is not that far, and unavailable where it is kept no more', async () => {
    const range = (problem: string) => comet({ blockchain: () => ({ problem }) })
    const behind = await range("min height 60 can't be greater than max height 50")
    expect(await rpc(behind).blockAt(60n)).toBeUndefined()
    const pruned = await range("min height 45 can't be greater than max height 40")
    await expect(rpc(pruned).blockAt(40n)).rejects.toThrow('does not keep block 40 any more')
  })

  test.each([
    ['of another height', at(41)],
    ['of another chain', at(40, 'cosmoshub-4')],
    ['of no block', () => ({ result: { last_height: '50', block_metas: [] } })],
  ])('is not believed where the node tells %s', async (_, blockchain) => {
    const odd = await comet({ blockchain })
    await expect(rpc(odd).blockAt(40n)).rejects.toThrow(ChainUnavailable)
    expect(await rpc(odd, await comet({ blockchain: at(40) })).blockAt(40n)).toMatchObject({ number: 40n })
  })
})

describe('a transaction that is offered', () => {
  const told = { code: 0, codespace: '', log: '[]', data: '', hash: tx.hash }

  test('is taken to wait for some seconds once a node took it, or had it', async () => {
    const own = rpc(await comet({ broadcast_tx_sync: () => ({ result: told }) }))
    expect(own.isTaken(tx.hash)).toBe(false)
    expect(await own.broadcast(bytes)).toMatchObject({ code: 0 })
    expect(own.isTaken(tx.hash)).toBe(true)

    const again = rpc(await comet({ broadcast_tx_sync: () => ({ problem: 'tx already exists in cache' }) }))
    expect(await again.broadcast(bytes)).toMatchObject({ code: 19, codespace: 'sdk' })
    expect(again.isTaken(tx.hash)).toBe(true)
  })

  test('is refused by the code of the check, or for its size', async () => {
    const refusing = rpc(
      await comet({
        broadcast_tx_sync: () => ({ result: { ...told, code: 4, codespace: 'sdk', log: 'no' } }),
      }),
    )
    expect(await refusing.broadcast(bytes)).toMatchObject({ code: 4, codespace: 'sdk', log: 'no' })
    expect(refusing.isTaken(tx.hash)).toBe(false)
    const large = await comet({
      broadcast_tx_sync: () => ({ problem: 'Tx too large. Max size is 1, but got 3' }),
    })
    expect(await rpc(large).broadcast(bytes)).toMatchObject({ code: 21, codespace: 'sdk' })
  })

  test('is refused by nobody where a node that may have taken it did not answer', async () => {
    const behind = await comet()
    const silent = await startNode(async (messages, response, body) => {
      if (messages.some(({ method }) => method === 'broadcast_tx_sync')) response.destroy()
      else response.end(await (await fetch(behind.url, { method: 'POST', body })).text())
    })
    closing.push(() => silent.close())
    const refusing = await comet({
      broadcast_tx_sync: () => ({ result: { ...told, code: 7, codespace: 'feegrant', log: 'no' } }),
    })
    await expect(rpc(silent, refusing).broadcast(bytes)).rejects.toThrow(ChainUnavailable)
    expect(await rpc(refusing, silent).broadcast(bytes)).toMatchObject({ code: 7 })
    const taking = await comet({ broadcast_tx_sync: () => ({ result: told }) })
    expect(await rpc(silent, taking).broadcast(bytes)).toMatchObject({ code: 0 })
  })

  test('goes to the next node where one cannot take any, or tells of another', async () => {
    const sound = await comet({ broadcast_tx_sync: () => ({ result: told }) })
    for (const odd of [
      await comet({
        broadcast_tx_sync: () => ({ problem: 'mempool is full: number of txs 5000 (max: 5000)' }),
      }),
      await comet({ broadcast_tx_sync: () => ({ result: { ...told, hash: HASH } }) }),
    ]) {
      expect(await rpc(odd, sound).broadcast(bytes)).toMatchObject({ code: 0 })
      await expect(rpc(odd).broadcast(bytes)).rejects.toThrow(ChainUnavailable)
    }
  })
})
