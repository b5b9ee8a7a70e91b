import { type Event } from '../app/context'
import { type TxResult } from '../app/run-tx'
import { goTime, timestampOf } from '../app/time'
import { type Block } from './block'
import { type Chain } from './chain'
import {
  BLOCK_PROTOCOL,
  commitSignature,
  consensusHash,
  type Header,
  lastCommitHashOf,
  NO_EVIDENCE_HASH,
  partsHash,
  validator,
  validatorsHash,
} from './header'
import { type IndexedTx } from './index-of-txs'

/** The responses of CometBFT 0.38 have 64-bit numbers as strings, hashes in hex and bytes in base64. */
const VERSION = '0.38.22'
const MONIKER = 'tollgate-development-chain-worth-nothing'

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const timeText = (milliseconds: number) => goTime(timestampOf(milliseconds))

const blockIdAnswer = (hash: string) =>
  hash === ''
    ? { hash: '', parts: { total: 0, hash: '' } }
    : { hash, parts: { total: 1, hash: partsHash(hash) } }

const headerAnswer = (header: Header) => ({
  version: { block: String(BLOCK_PROTOCOL) },
  chain_id: header.chainId,
  height: String(header.height),
  time: timeText(header.time),
  last_block_id: blockIdAnswer(header.lastBlockHash),
  last_commit_hash: lastCommitHashOf(header),
  data_hash: header.dataHash,
  validators_hash: validatorsHash,
  next_validators_hash: validatorsHash,
  consensus_hash: consensusHash,
  app_hash: header.appHash,
  last_results_hash: header.lastResultsHash,
  evidence_hash: NO_EVIDENCE_HASH,
  proposer_address: validator.address,
})

const commitAnswer = (height: number, hash: string, time: number) => ({
  height: String(height),
  round: 0,
  block_id: blockIdAnswer(hash),
  signatures:
    hash === ''
      ? []
      : [
          {
            block_id_flag: 2,
            validator_address: validator.address,
            timestamp: timeText(time),
            signature: commitSignature(hash),
          },
        ],
})

export const blockAnswer = ({ header, hash, txs }: Block) => ({
  block_id: blockIdAnswer(hash),
  block: {
    header: headerAnswer(header),
    data: { txs: txs.map(base64) },
    evidence: { evidence: [] },
    last_commit: commitAnswer(header.height - 1, header.lastBlockHash, header.time),
  },
})

export const blockMetaAnswer = ({ header, hash, txs }: Block) => ({
  block_id: blockIdAnswer(hash),
  block_size: String(600 + txs.reduce((sum, tx) => sum + tx.length, 0)),
  header: headerAnswer(header),
  num_txs: String(txs.length),
})

export const eventsAnswer = (events: readonly Event[]) =>
  events.map(({ type, attributes }) => ({
    type,
    attributes: attributes.map(({ key, value }) => ({ key, value, index: true })),
  }))

export const txResultAnswer = ({ code, data, log, gasWanted, gasUsed, events, codespace }: TxResult) => ({
  code,
  data: data.length > 0 ? base64(data) : null,
  log,
  info: '',
  gas_wanted: BigInt.asIntN(64, gasWanted).toString(),
  gas_used: gasUsed.toString(),
  events: eventsAnswer(events),
  codespace,
})

export const indexedTxAnswer = ({ hash, height, index, bytes, result }: IndexedTx) => ({
  hash,
  height: String(height),
  index,
  tx_result: txResultAnswer(result),
  tx: base64(bytes),
})

export const broadcastAnswer = ({ code, data, log, codespace }: TxResult, hash: string) => ({
  code,
  data: Buffer.from(data).toString('hex').toUpperCase(),
  log,
  codespace,
  hash,
})

const validatorAnswer = () => ({
  address: validator.address,
  pub_key: { type: 'tendermint/PubKeyEd25519', value: validator.publicKey },
  voting_power: String(validator.power),
})

export function statusAnswer(chain: Chain, listenAddress: string) {
  const { header, hash } = chain.latest()
  const earliest = chain.block(chain.baseHeight())
  return {
    node_info: nodeInfoAnswer(chain.chainId, listenAddress),
    sync_info: {
      latest_block_hash: hash,
      latest_app_hash: header.appHash,
      latest_block_height: String(header.height),
      latest_block_time: timeText(header.time),
      earliest_block_hash: earliest?.hash ?? '',
      earliest_app_hash: earliest?.header.appHash ?? '',
      earliest_block_height: String(chain.baseHeight()),
      earliest_block_time: timeText(earliest?.header.time ?? 0),
      catching_up: false,
    },
    validator_info: validatorAnswer(),
  }
}

const nodeInfoAnswer = (network: string, listenAddress: string) => ({
  protocol_version: { p2p: '8', block: String(BLOCK_PROTOCOL), app: '0' },
  id: validator.address.toLowerCase(),
  listen_addr: listenAddress,
  network,
  version: VERSION,
  channels: '40202122233038606100',
  moniker: MONIKER,
  other: { tx_index: 'on', rpc_address: listenAddress },
})
