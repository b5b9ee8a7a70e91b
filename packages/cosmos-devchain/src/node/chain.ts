import { createHash } from 'node:crypto'
import { ensureAccount } from '../app/accounts'
import { moduleAddress } from '../app/address'
import { FEE_COLLECTOR, mint } from '../app/bank'
import { type Coins } from '../app/coins'
import { type Context } from '../app/context'
import { removeExpired } from '../app/feegrant'
import { createGasMeter } from '../app/gas'
import { runTx, type Setting } from '../app/run-tx'
import { branch, type Changes, createStore, type Store } from '../app/store'
import { ZERO_TIME_MS } from '../app/time'
import { type Block } from './block'
import { dataHashOf, type Header, headerHash, resultsHashOf } from './header'
import { createTxIndex } from './index-of-txs'
import { openBlockLog, readBlockLog } from './block-log'
import { createMempool } from './mempool'

export type ChainOptions = {
  chainId: string
  /** Keeps the chain between starts. */
  folder: string
  now?: () => number
  /** Accounts that have coins from the first block. */
  genesis: readonly { address: string; coins: Coins }[]
}

/** Number of past heights that a query can use. */
const STATES_KEPT = 200
/** A block without transactions is dropped after this many more blocks; at a start, after fewer. */
const EMPTY_BLOCKS_KEPT = 1000
const EMPTY_BLOCKS_RESTORED = 256
const NO_HASH = createHash('sha256').digest('hex').toUpperCase()

export type Chain = ReturnType<typeof createChain>

/** The only node of the chain: state, blocks and mempool. */
export function createChain({ chainId, folder, now = Date.now, genesis }: ChainOptions) {
  const store = createStore()
  const blocks = new Map<number, Block>()
  const index = createTxIndex()
  /** State changes that undo the recent blocks, latest last. */
  const undos: { height: number; undo: Changes }[] = []
  let minimumGasPrice: Setting['minimumGasPrice'] = { denom: 'uatom', price: 25n * 10n ** 15n }
  /** Whether gRPC or REST is on. Only then does a node answer the queries of its services, such as Simulate. */
  let hasServices = true
  /** Simulated gas as a percentage of the gas that a block uses: some versions of the SDK simulate less. */
  let simulatedPercent = 100n
  /** Checks run at height 0 between the start of the node and its next block. */
  let isJustStarted = false
  let appHash = NO_HASH
  let height = 0
  let base = 1

  const restored = restore()
  const snapshot = { chainId, height, appHash, state: store.entries() }
  const blockLog = openBlockLog(folder, snapshot, [...blocks.values()])
  const mempool = createMempool((state, bytes, mode) => runTx(state, bytes, mode, checkSetting()), store)
  if (!blocks.has(height)) makeBlock(height === 0 ? { before: openAccounts } : {})

  return {
    chainId,
    restored,
    store: store as Store,
    index,
    mempool,
    latest,
    block: (at: number) => blocks.get(at),
    /** All blocks from this height are kept; below it, only those with transactions. */
    baseHeight: () => base,
    /** The state after the latest block. */
    appHash: () => appHash,
    minimumGasPrice: () => minimumGasPrice,
    setMinimumGasPrice: (price: Setting['minimumGasPrice']) => void (minimumGasPrice = price),
    hasServices: () => hasServices,
    setServices: (on: boolean) => void (hasServices = on),
    simulatedPercent: () => simulatedPercent,
    setSimulatedPercent: (percent: bigint) => void (simulatedPercent = percent),
    /** Behaves like a restarted node: the mempool is empty, and until the next block checks run at height 0. */
    restart() {
      mempool.drop()
      isJustStarted = true
    },
    stateAt,
    mine: () => makeBlock({ txs: mempool.pending() }),

    /** Creates coins in a separate block without transactions. */
    fund: (address: string, coins: Coins) =>
      makeBlock({ before: (context) => mint(context, address, coins) }),

    /** Changes the state in a separate block without transactions. */
    change: (by: (state: Store) => void) => makeBlock({ before: (context) => by(context.store) }),

    close: blockLog.close,
  }

  function latest(): Block {
    const block = blocks.get(height)
    if (!block) throw new Error('The chain has no block')
    return block
  }

  function setting({ header }: { header: Pick<Header, 'height' | 'time'> }): Setting {
    return { chainId, minimumGasPrice, block: { height: header.height, time: header.time } }
  }

  function checkSetting(): Setting {
    return isJustStarted ? setting({ header: { height: 0, time: ZERO_TIME_MS } }) : setting(latest())
  }

  /** The state after the block of this height; undefined if it is pruned or in the future. */
  function stateAt(at: number): Store | undefined {
    if (at === height) return store
    const later = undos.filter((one) => one.height > at)
    if (at < 1 || at > height || later.length !== height - at) return undefined
    const changes = new Map<string, string | undefined>()
    for (const { undo } of later.reverse()) for (const [key, value] of undo) changes.set(key, value)
    return branch(store, changes)
  }

  function makeBlock({ txs = [], before }: { txs?: Uint8Array[]; before?: (context: Context) => void }) {
    isJustStarted = false
    const previous = blocks.get(height)
    const header: Header = {
      chainId,
      height: height + 1,
      time: Math.max(now(), (previous?.header.time ?? 0) + 1),
      lastBlockHash: previous?.hash ?? '',
      dataHash: dataHashOf(txs),
      appHash,
      lastResultsHash: resultsHashOf(previous?.results ?? []),
    }
    const next = branch(store)
    const context: Context = {
      ...setting({ header }),
      store: next,
      gas: createGasMeter(),
      events: [],
      mode: 'deliver',
    }
    before?.(context)
    const results = txs.map((bytes) => runTx(next, bytes, 'deliver', setting({ header })))
    removeExpired(context)

    const block: Block = { header, hash: headerHash(header), txs, results }
    blockLog.add(block, next.changes)
    keep(block, next.changes)
    forgetEmptyBlock(height - EMPTY_BLOCKS_KEPT)
    mempool.settle(block)
    return block
  }

  function keep(block: Block, changes: Changes) {
    undos.push({ height: block.header.height, undo: store.apply(changes) })
    if (undos.length > STATES_KEPT) undos.shift()
    appHash = appHashAfter(appHash, changes)
    height = block.header.height
    blocks.set(height, block)
    index.add(block)
  }

  function forgetEmptyBlock(at: number) {
    if (at < 1) return
    base = Math.max(base, at + 1)
    if (blocks.get(at)?.txs.length === 0) blocks.delete(at)
  }

  function openAccounts(context: Context) {
    for (const { address } of genesis) ensureAccount(context.store, address)
    ensureAccount(context.store, moduleAddress(FEE_COLLECTOR), FEE_COLLECTOR)
    for (const { address, coins } of genesis) mint(context, address, coins)
  }

  function restore() {
    const memory = readBlockLog(folder, chainId)
    if (!memory.snapshot) return memory.restored
    store.apply(new Map(memory.snapshot.state))
    ;({ height, appHash } = memory.snapshot)
    for (const { block, changes } of memory.blocks) {
      if (changes) keep(block, changes)
      else {
        blocks.set(block.header.height, block)
        index.add(block)
      }
    }
    base = Math.max(1, height - EMPTY_BLOCKS_RESTORED + 1)
    for (const [at, { txs }] of blocks) if (at < base && txs.length === 0) blocks.delete(at)
    return memory.restored
  }
}

/** Depends on the state only. */
function appHashAfter(previous: string, changes: Changes): string {
  if (changes.size === 0) return previous
  const sorted = [...changes].sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(previous).update(JSON.stringify(sorted)).digest('hex').toUpperCase()
}
