import { setSendEnabled } from '../app/bank'
import { readAddress } from '../app/address'
import { isDenom, parseCoins } from '../app/coins'
import { ArgumentError, method, type Method } from './arguments'
import { type Chain } from './chain'
import { type Pace, type BlockProducer } from './block-producer'

const PACES: readonly string[] = ['at-once', 'by-interval', 'stopped'] satisfies Pace[]

/** Methods for tests, which no real chain has. */
export function createDevMethods(
  chain: Chain,
  blockProducer: BlockProducer,
  instance: string,
): Readonly<Record<string, Method>> {
  return {
    dev_info: method({}, () => ({ instance, restored: chain.restored })),

    dev_fund: method({ address: 'text', coins: 'text' }, ({ address = '', coins = '' }) => {
      const to = valid(() => readAddress(address))
      const { header } = chain.fund(
        to,
        valid(() => parseCoins(coins)),
      )
      return { height: String(header.height) }
    }),

    dev_setPace: method({ pace: 'text' }, ({ pace = '' }) => {
      if (!PACES.includes(pace)) throw new ArgumentError(`pace is one of ${PACES.join(', ')}`)
      blockProducer.set(pace as Pace)
      return {}
    }),

    dev_mine: method({ count: 'integer' }, ({ count = 1 }) => {
      if (count < 1 || count > 10_000) throw new ArgumentError('count is from 1 to 10000')
      for (let i = 0; i < count; i++) chain.mine()
      return { height: String(chain.latest().header.height) }
    }),

    dev_setMinimumGasPrice: method({ price: 'text' }, ({ price = '' }) => {
      const [, whole = '', fraction = '', denom = ''] =
        /^(\d{1,18})(?:\.(\d{1,18}))?([a-zA-Z].*)$/.exec(price) ?? []
      if (!isDenom(denom)) throw new ArgumentError('price is like 0.025uatom')
      chain.setMinimumGasPrice({ denom, price: BigInt(whole + fraction.padEnd(18, '0')) })
      return {}
    }),

    dev_dropPending: method({}, () => {
      const dropped = chain.mempool.size()
      chain.mempool.drop()
      return { dropped }
    }),

    dev_restart: method({}, () => {
      chain.restart()
      return {}
    }),

    dev_setServices: method({ on: 'flag' }, ({ on = true }) => {
      chain.setServices(on)
      return {}
    }),

    dev_setSimulatedPercent: method({ percent: 'integer' }, ({ percent = 100 }) => {
      if (percent < 1 || percent > 100) throw new ArgumentError('percent is from 1 to 100')
      chain.setSimulatedPercent(BigInt(percent))
      return {}
    }),

    dev_setSendEnabled: method({ denom: 'text', enabled: 'flag' }, ({ denom = '', enabled = true }) => {
      if (!isDenom(denom)) throw new ArgumentError('no denom')
      chain.change((state) => setSendEnabled(state, denom, enabled))
      return {}
    }),
  }
}

function valid<T>(read: () => T): T {
  try {
    return read()
  } catch (problem) {
    throw new ArgumentError(problem instanceof Error ? problem.message : String(problem))
  }
}
