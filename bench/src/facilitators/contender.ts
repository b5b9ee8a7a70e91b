import { type BenchmarkContext } from '../benchmark'
import { type PaymentChain } from './chain'

/** A facilitator that is measured. `url` plus `/verify` or `/settle`. */
export type Contender = { url: string; pid: number; headers: Readonly<Record<string, string>> }

export type Place = Pick<BenchmarkContext, 'folder' | 'closeLater' | 'progress'>

/** `nodeUrl`: of the chain, or of a proxy of it. */
export type ContenderOptions = { chain: PaymentChain; nodeUrl: string }
