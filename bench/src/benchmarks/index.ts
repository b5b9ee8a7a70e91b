import { type Benchmark } from '../benchmark'

/** In the order of `pnpm bench --list` and of docs/benchmarks.md. */
export const benchmarks: readonly Benchmark[] = []
