import { type Benchmark } from '../benchmark'
import { connections } from './connections'
import { hostileBodies } from './hostile-bodies'
import { history } from './history'
import { memory } from './memory'
import { pacedCalls } from './paced-calls'
import { paidCalls } from './paid-calls'
import { pennilessWallet } from './penniless-wallet'
import { replicas } from './replicas'
import { settleAtOnce } from './settle'
import { settleLatency } from './settle-latency'
import { signIn } from './sign-in'
import { smoke } from './smoke'
import { spends } from './spends'
import { start } from './start'
import { verifyUncached } from './verify'
import { wallets } from './wallets'

/** In the order of `pnpm bench --list` and of docs/benchmarks.md. */
export const benchmarks: readonly Benchmark[] = [
  paidCalls,
  pacedCalls,
  connections,
  wallets,
  replicas,
  spends,
  smoke,
  verifyUncached,
  settleAtOnce,
  settleLatency,
  signIn,
  history,
  start,
  memory,
  hostileBodies,
  pennilessWallet,
]
