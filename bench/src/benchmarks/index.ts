import { type Benchmark } from '../benchmark'
import { connections } from './connections'
import { hostileBodies } from './hostile-bodies'
import { pacedCalls } from './paced-calls'
import { paidCalls } from './paid-calls'
import { pennilessWallet } from './penniless-wallet'
import { replicas } from './replicas'
import { smoke } from './smoke'
import { spends } from './spends'
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
  hostileBodies,
  pennilessWallet,
]
