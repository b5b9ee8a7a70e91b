import { type Benchmark } from '../benchmark'
import { hostileBodies } from './hostile-bodies'
import { paidCalls } from './paid-calls'
import { pennilessWallet } from './penniless-wallet'

/** In the order of `pnpm bench --list` and of docs/benchmarks.md. */
export const benchmarks: readonly Benchmark[] = [paidCalls, hostileBodies, pennilessWallet]
