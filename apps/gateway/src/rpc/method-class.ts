import { type Call } from './call'
import { type CallKind } from './call-kind'

export const methodClasses = ['read', 'write', 'logs', 'trace', 'rest', 'other'] as const
export type MethodClass = (typeof methodClasses)[number]

/** Searches of a range of blocks, which cost a node far more than a read. */
const LOGS = /^(eth_(getLogs|getFilterLogs|getFilterChanges|newFilter)|tx_search|block_search)$/
const TRACE = /^(trace|debug|txpool|arbtrace)_/
const READS =
  /^((eth|net|web3)_\w+|abci_(query|info)|health|status|net_info|genesis(_chunked)?|block\w*|header\w*|commit|validators|tx|unconfirmed_txs|num_unconfirmed_txs|check_tx|consensus_(state|params)|dump_consensus_state)$/

/** Of a batch, the class of its first method; `write` if any of them writes. */
export function methodClassOf({ transport, rpcMethod }: Call, kind: CallKind): MethodClass {
  if (kind !== 'read') return 'write'
  if (transport === 'rest') return 'rest'
  if (rpcMethod === null) return 'other'
  if (LOGS.test(rpcMethod)) return 'logs'
  if (TRACE.test(rpcMethod)) return 'trace'
  return READS.test(rpcMethod) ? 'read' : 'other'
}
