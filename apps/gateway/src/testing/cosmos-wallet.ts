import {
  makeSignDoc,
  rawEthSecp256k1PubkeyToRawAddress,
  rawSecp256k1PubkeyToRawAddress,
  serializeSignDoc,
} from '@cosmjs/amino'
import { keccak256, Secp256k1, sha256 } from '@cosmjs/crypto'
import { toBase64, toBech32, toUtf8 } from '@cosmjs/encoding'
import { randomBytes } from 'node:crypto'
import { cosmosPlanOf } from './catalog'
import { createLogins } from './wallet'

const kinds = {
  secp256k1: { digestOf: sha256, rawAddressOf: rawSecp256k1PubkeyToRawAddress },
  ethsecp256k1: { digestOf: keccak256, rawAddressOf: rawEthSecp256k1PubkeyToRawAddress },
}

export type CosmosWallet = ReturnType<typeof createCosmosWallet>

/** The bytes that a wallet signs for arbitrary text (ADR-036). */
export const adr036 = (signer: string, text: string): Uint8Array =>
  serializeSignDoc(
    makeSignDoc(
      [{ type: 'sign/MsgSignData', value: { signer, data: toBase64(toUtf8(text)) } }],
      { gas: '0', amount: [] },
      '',
      '',
      0,
      0,
    ),
  )

/** A Cosmos wallet with its own key. By default it signs in for `plan`. */
export function createCosmosWallet(
  parts: Parameters<typeof createLogins>[0],
  {
    prefix = 'osmo',
    kind = 'secp256k1',
    plan = cosmosPlanOf(),
  }: { prefix?: string; kind?: keyof typeof kinds; plan?: { id: number; chain_id: string } } = {},
) {
  const { digestOf, rawAddressOf } = kinds[kind]
  const { privkey, pubkey } = Secp256k1.makeKeypair(randomBytes(32))
  const publicKey = Secp256k1.compressPubkey(pubkey)
  const rawAddress = rawAddressOf(publicKey)
  const address = toBech32(prefix, rawAddress)

  const sign = (bytes: Uint8Array): Uint8Array =>
    Secp256k1.createSignature(digestOf(bytes), privkey).toFixedLength().subarray(0, 64)

  return {
    address,
    addressOn: (other: string) => toBech32(other, rawAddress),
    publicKey,
    sign,
    ...createLogins(parts, address, (message) => ({
      signature: toBase64(sign(adr036(address, message))),
      pubkey: toBase64(publicKey),
      auth_method: 'siwc',
      x402_chain_id: plan.chain_id,
      x402_ecosystem: 'cosmos',
      pricing_plan_id: plan.id,
    })),
  }
}
