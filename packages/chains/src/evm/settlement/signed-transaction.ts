import { type SignedTransaction } from '../../family'
import { keccak256 } from '../../keccak'
import { recoverPublicKey, uncompressPublicKey } from '../../secp256k1'
import type { Signer } from '../../signers/signer'
import { evmScheme } from '../signing/scheme'

/** An EIP-1559 transaction without an access list. `data` in hex. */
export type Eip1559Transaction = {
  chainId: bigint
  nonce: bigint
  maxPriorityFeePerGas: bigint
  maxFeePerGas: bigint
  gasLimit: bigint
  to: string
  data: string
}

/**
 * What is signed. The encoder of ethers copies each byte of the data as a number, and encodes three times until a transaction is
 * signed: with 200 payments in the data that takes 80 ms, this and `signTransaction` 2 ms.
 */
export function encodeUnsigned(transaction: Eip1559Transaction): Uint8Array {
  const { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, to, data } = transaction
  const numbers = [chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit].map(rlpNumber).join('')
  const content =
    numbers +
    rlpBytes(lowerHex(to)) +
    rlpNumber(NO_VALUE) +
    rlpBytes(lowerHex(data)) +
    rlpList(NO_ACCESS_LIST)
  return bytesOf(typed(content))
}

/** Signs what `encodeUnsigned` returned. */
export async function signTransaction(unsigned: Uint8Array, signer: Signer): Promise<SignedTransaction> {
  const rs = await signer.sign(unsigned)
  const yParity = recoveryOf(evmScheme.digestOf(unsigned), rs, signer)
  const signature = [BigInt(yParity), numberOf(rs.subarray(0, 32)), numberOf(rs.subarray(32))]
  const raw = typed(contentOf(unsigned) + signature.map(rlpNumber).join(''))
  return { raw, hash: hashOf(raw) }
}

/** Which of the two points that a signature can be of is the signer's key. */
function recoveryOf(digest: Uint8Array, rs: Uint8Array, { address, publicKey }: Signer): number {
  const key = uncompressPublicKey(publicKey)
  const recovery = [0, 1].find((id) => {
    const recovered = recoverPublicKey(digest, rs, id)
    return key !== undefined && recovered !== undefined && Buffer.compare(recovered, key) === 0
  })
  if (recovery === undefined) throw new Error(`The signature is not of the key of ${address}`)
  return recovery
}

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex.slice(2), 'hex')

const lowerHex = (hex: string): string => hex.slice(2).toLowerCase()

const hashOf = (hex: string): string => keccak256(bytesOf(hex))

const NO_VALUE = 0n
const NO_ACCESS_LIST = ''

const TYPE = '02'
const typed = (content: string): string => `0x${TYPE}${rlpList(content)}`

/** The reverse of `typed`, of bytes. */
function contentOf(transaction: Uint8Array): string {
  const head = transaction[1] ?? LIST
  const lengthBytes = Math.max(0, head - LIST - LONGEST_SHORT)
  return Buffer.from(transaction.subarray(2 + lengthBytes)).toString('hex')
}

/** RLP, in hex without 0x (Ethereum yellow paper, appendix B). */
const rlpList = (content: string): string => rlpHead(content.length / 2, LIST) + content

function rlpBytes(hex: string): string {
  const isOwnCode = hex.length === 2 && Number.parseInt(hex, 16) < 0x80
  return isOwnCode ? hex : rlpHead(hex.length / 2, 0x80) + hex
}

const rlpNumber = (value: bigint): string => rlpBytes(value === 0n ? '' : evenHex(value))

const LIST = 0xc0
const LONGEST_SHORT = 55
function rlpHead(length: number, offset: number): string {
  if (length <= LONGEST_SHORT) return evenHex(offset + length)
  const size = evenHex(length)
  return evenHex(offset + LONGEST_SHORT + size.length / 2) + size
}

function evenHex(value: bigint | number): string {
  const hex = value.toString(16)
  return hex.length % 2 === 0 ? hex : `0${hex}`
}
