import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { BinaryWriter } from 'cosmjs-types/binary'
import { Timestamp } from 'cosmjs-types/google/protobuf/timestamp'
import { ExecTxResult } from 'cosmjs-types/tendermint/abci/types'
import { PublicKey } from 'cosmjs-types/tendermint/crypto/keys'
import { BlockID } from 'cosmjs-types/tendermint/types/types'
import { SimpleValidator } from 'cosmjs-types/tendermint/types/validator'
import { Consensus } from 'cosmjs-types/tendermint/version/types'
import { type TxResult } from '../app/run-tx'
import { timestampOf } from '../app/time'

/** CometBFT 0.38. */
export const BLOCK_PROTOCOL = 11

export type Header = {
  chainId: string
  height: number
  /** Milliseconds since 1970. */
  time: number
  /** Upper-case hex, like all hashes here; empty in the first block. */
  lastBlockHash: string
  dataHash: string
  /** The state before this block. */
  appHash: string
  lastResultsHash: string
}

const sha256 = (...parts: (Uint8Array | string)[]) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex').toUpperCase()
const unhex = (text: string) => Buffer.from(text, 'hex')

/** DEVELOPMENT ONLY: the key of the only validator is public. */
const SEED = sha256('The validator of the development chain')
const validatorKey = createPrivateKey({
  key: Buffer.concat([unhex('302e020100300506032b657004220420'), SEED]),
  format: 'der',
  type: 'pkcs8',
})
const validatorPublicKey = createPublicKey(validatorKey).export({ format: 'der', type: 'spki' }).subarray(-32)

export const validator = {
  address: hex(sha256(validatorPublicKey).subarray(0, 20)),
  publicKey: validatorPublicKey.toString('base64'),
  power: 1,
}

/** The same in all headers, because the validator set never changes. */
export const validatorsHash = hex(
  merkleRoot([
    SimpleValidator.encode({
      pubKey: PublicKey.fromPartial({ ed25519: validatorPublicKey }),
      votingPower: BigInt(validator.power),
    }).finish(),
  ]),
)
export const consensusHash = hex(sha256('The parameters of the development chain'))
export const NO_EVIDENCE_HASH = hex(sha256(''))

/** Hash of the only part of a block. Computed from the block hash; CometBFT computes it from the block's bytes. */
export const partsHash = (blockHash: string) => hex(sha256('part', unhex(blockHash)))

export const dataHashOf = (txs: readonly Uint8Array[]) => hex(merkleRoot(txs.map((tx) => sha256(tx))))

export const resultsHashOf = (results: readonly TxResult[]) =>
  hex(
    merkleRoot(
      results.map(({ code, data, gasWanted, gasUsed }) =>
        ExecTxResult.encode(ExecTxResult.fromPartial({ code, data, gasWanted, gasUsed })).finish(),
      ),
    ),
  )

export const lastCommitHashOf = ({ lastBlockHash }: Header) =>
  lastBlockHash === '' ? NO_EVIDENCE_HASH : hex(sha256('COMMIT', unhex(lastBlockHash)))

/** Signs the block hash only, so a light client would not accept it as a vote. */
export const commitSignature = (blockHash: string) =>
  sign(null, unhex(blockHash), validatorKey).toString('base64')

/** Merkle root of the header's 14 fields, as in CometBFT. */
export function headerHash(header: Header): string {
  const { lastBlockHash } = header
  const lastBlockId = BlockID.fromPartial(
    lastBlockHash === ''
      ? { partSetHeader: {} }
      : { hash: unhex(lastBlockHash), partSetHeader: { total: 1, hash: unhex(partsHash(lastBlockHash)) } },
  )
  return hex(
    merkleRoot([
      Consensus.encode({ block: BigInt(BLOCK_PROTOCOL), app: 0n }).finish(),
      wrapped(Buffer.from(header.chainId)),
      new BinaryWriter().uint32(8).int64(header.height).finish(),
      Timestamp.encode(timestampOf(header.time)).finish(),
      BlockID.encode(lastBlockId).finish(),
      ...[
        lastCommitHashOf(header),
        header.dataHash,
        validatorsHash,
        validatorsHash,
        consensusHash,
        header.appHash,
        header.lastResultsHash,
        NO_EVIDENCE_HASH,
        validator.address,
      ].map((text) => wrapped(unhex(text))),
    ]),
  )
}

/** A `BytesValue` or a `StringValue`. */
const wrapped = (bytes: Uint8Array) =>
  bytes.length === 0 ? bytes : new BinaryWriter().uint32(10).bytes(bytes).finish()

/** RFC 6962, 2.1. */
function merkleRoot(leaves: Uint8Array[]): Buffer {
  if (leaves.length === 0) return sha256('')
  const [first = new Uint8Array()] = leaves
  if (leaves.length === 1) return sha256(Uint8Array.of(0), first)
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1))
  return sha256(Uint8Array.of(1), merkleRoot(leaves.slice(0, split)), merkleRoot(leaves.slice(split)))
}
