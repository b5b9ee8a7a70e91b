import { serializeSignDoc } from '@cosmjs/amino'
import type { SignInProof } from '../family'
import { addressOf, parseAddress, prefixOf } from './address'
import { isPoint, isSignedBy, type PublicKey } from './public-key'

/**
 * What a wallet signs as an off-chain message: the amino sign doc of a transaction that no chain can carry out, for the
 * empty chain id, with the message in it (ADR-036, https://docs.cosmos.network/main/build/architecture/adr-036-arbitrary-signature).
 */
const signBytesOf = (message: string, signer: string): Uint8Array =>
  serializeSignDoc({
    chain_id: '',
    account_number: '0',
    sequence: '0',
    fee: { gas: '0', amount: [] },
    msgs: [
      {
        type: 'sign/MsgSignData',
        value: { signer, data: Buffer.from(message, 'utf8').toString('base64') },
      },
    ],
    memo: '',
  })

/**
 * Whether the key of `address` signed `message` by ADR-036. `pubkey` (33 bytes) and `signature` (r and s, 64 bytes) are in
 * canonical base64. The key must be the address's own, by either way in which addresses are made of keys.
 */
export function verifySignIn(proof: SignInProof): boolean {
  const { message } = proof
  const address = parseAddress(proof.address)
  const key = readBase64(proof.pubkey)
  const signature = readBase64(proof.signature)
  if (address === undefined || !key || !signature || !isWellFormed(message)) return false
  const publicKey = keyOf(address, key)
  return publicKey !== undefined && isSignedBy(publicKey, signBytesOf(message, address), signature)
}

/** The key as its address says what kind it is of; undefined where it is another's. */
function keyOf(address: string, bytes: Uint8Array): PublicKey | undefined {
  if (!isPoint(bytes)) return undefined
  const candidates: PublicKey[] = [
    { type: 'secp256k1', bytes },
    { type: 'ethsecp256k1', bytes },
  ]
  return candidates.find((candidate) => addressOf(candidate, prefixOf(address)) === address)
}

function readBase64(text = ''): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** UTF-8 writes every half of a character as the same replacement: two texts would have one signature. */
const isWellFormed = (text: string) => Buffer.from(text, 'utf8').toString('utf8') === text
