import { serializeSignDoc } from '@cosmjs/amino'
import type { SignInProof } from '../../family'
import { addressOf, parseAddress, prefixOf } from '../address'
import { isPoint, isSignedBy, type PublicKey } from './public-key'

/** The amino sign doc of ADR-036, which no chain can execute: https://docs.cosmos.network/main/build/architecture/adr-036-arbitrary-signature */
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

/** Verifies ADR-036. `pubkey` (33 bytes) and `signature` (r and s, 64 bytes) must be canonical base64. */
export function verifySignIn(proof: SignInProof): boolean {
  const { message } = proof
  const address = parseAddress(proof.address)
  const key = readBase64(proof.pubkey)
  const signature = readBase64(proof.signature)
  if (address === undefined || !key || !signature || !isWellFormed(message)) return false
  const publicKey = keyOf(address, key)
  return publicKey !== undefined && isSignedBy(publicKey, signBytesOf(message, address), signature)
}

/** The key, of the type whose address is `address`; undefined if neither type matches. */
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

/** UTF-8 encodes every lone surrogate as U+FFFD, so that two messages would have one signature. */
const isWellFormed = (text: string) => Buffer.from(text, 'utf8').toString('utf8') === text
