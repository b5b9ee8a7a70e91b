import { type Chain } from './chain'

/** When a block is created: for each transaction and at each interval, at each interval only, or never. */
export type Pace = 'at-once' | 'by-interval' | 'stopped'

export type BlockProducer = ReturnType<typeof createBlockProducer>

export function createBlockProducer(chain: Chain, { pace: first, seconds }: { pace: Pace; seconds: number }) {
  let pace = first
  let isDue = false
  let isOver = false
  const clock = setInterval(() => {
    if (pace !== 'stopped') chain.mine()
  }, seconds * 1000)

  /** After the response is sent, so that the sender sees the transaction pending before it is mined. */
  function onPending() {
    if (pace !== 'at-once' || isDue) return
    isDue = true
    setImmediate(() => {
      isDue = false
      if (!isOver) chain.mine()
    })
  }

  return {
    onPending,
    /** `at-once` also creates a block for the transactions that are pending. */
    set(next: Pace) {
      pace = next
      if (next === 'at-once' && chain.mempool.size() > 0) chain.mine()
    },
    stop() {
      isOver = true
      clearInterval(clock)
    },
  }
}
