import { firstRefusal } from '../checks'
import { prefixOf } from './address'
import { chainChecks } from './transfer-methods/bank-send/chain-checks'
import { offlineChecks, type VerifyContext } from './transfer-methods/bank-send/checks'
import type { CosmosNetwork } from './network'
import { readPayment } from './transfer-methods/bank-send/payment'
import { signBytesOf } from './signing/sign-bytes'
import { vectors, type Vectors } from './testing/vectors'
import { decodeTx } from './signing/tx'

type Vector = Vectors['transactions'][number] & { publicKey: string }

/** With the public keys that the transactions name. */
const all = vectors.flatMap(([library, { transactions }]) =>
  transactions.map((transaction): [string, Vector] => {
    const { key, mode, chainId, memo, sequence, txRaw } = transaction
    const bytes = decodeTx(Buffer.from(txRaw, 'base64'))?.signers[0]?.publicKey?.bytes ?? Buffer.of()
    return [
      `${library} for ${chainId}: ${mode}, ${key}, sequence ${sequence}, memo ${JSON.stringify(memo)}`,
      { ...transaction, publicKey: Buffer.from(bytes).toString('base64') },
    ]
  }),
)

/** Why a payment of this vector is refused by a chain that says of its payer what the vector says. */
function refusalOf(vector: Vector, raw: Uint8Array) {
  const { from, to, amount, denom, chainId, publicKey } = vector
  const payment = readPayment({
    version: 1,
    chainId,
    payment: {
      amount,
      denom,
      payer: from,
      recipient: to,
      txBase64: Buffer.from(raw).toString('base64'),
      publicKey,
    },
  })
  if (payment === undefined) return 'not read'
  const network = {
    chainId,
    prefix: prefixOf(from),
    feeDenom: vector.fee.amount[0]?.denom ?? denom,
    gasPrice: 0n,
    gaslessMaxFee: 1_000_000n,
    maxGas: 1_000_000n,
    signer: vector.fee.granter ?? '',
  } as CosmosNetwork
  const question: VerifyContext = {
    network,
    payment,
    terms: { token: { asset: denom, symbol: denom, decimals: 6 }, payTo: to, amount: BigInt(amount) },
    reserved: 0n,
    minBlock: 0n,
  }
  const chainState = {
    account: {
      address: from,
      accountNumber: BigInt(vector.accountNumber),
      sequence: BigInt(vector.sequence),
    },
    balance: 10n ** 60n,
    height: 1n,
    memoLimit: 256,
    isCovered: true,
    simulated: { gasUsed: 1n },
  }
  return firstRefusal(offlineChecks, question) ?? firstRefusal(chainChecks, { ...question, chainState })
}

/** All bits of the first of its kind, and every thirteenth of the others. */
const transferMethodOf = ({ key, mode }: Vector) => `${key} ${mode}`
const strideOf = (vector: Vector) =>
  all.find(([, other]) => transferMethodOf(other) === transferMethodOf(vector))?.[1] === vector ? 1 : 13

test('there are transactions of four libraries, in both modes, by both kinds of keys', () => {
  expect(vectors.filter(([, { transactions }]) => transactions.length > 0)).toHaveLength(4)
  const kinds = new Set(all.map(([, vector]) => transferMethodOf(vector)))
  expect(kinds).toEqual(
    new Set(['secp256k1 direct', 'secp256k1 amino', 'ethsecp256k1 direct', 'ethsecp256k1 amino']),
  )
})

/** CosmJS signs a line separator as it is, where the Cosmos SDK escapes it: no chain takes that signature. */
const isOtherwiseOnChain = ({ mode, memo }: Vector) => mode === 'amino' && /[\u2028\u2029]/.test(memo)

test('what no chain would verify is not verified here', () => {
  const those = all.filter(([, vector]) => isOtherwiseOnChain(vector))
  expect(those).toHaveLength(1)
  for (const [, vector] of those)
    expect(refusalOf(vector, new Uint8Array(Buffer.from(vector.txRaw, 'base64')))).toMatchObject({
      reason: 'invalid_payload',
    })
})

describe.each(all.filter(([, vector]) => !isOtherwiseOnChain(vector)))(
  'a transaction made by %s',
  (_, vector) => {
    const raw = new Uint8Array(Buffer.from(vector.txRaw, 'base64'))

    test('is read as what it is, and its sign bytes are those that were signed', () => {
      const { chainId, from, to, amount, denom, memo, fee } = vector
      const tx = decodeTx(raw)!
      const [accountNumber, sequence] = [BigInt(vector.accountNumber), BigInt(vector.sequence)]
      expect(tx).toMatchObject({
        hash: vector.hash,
        isCanonical: true,
        send: { from, to, coins: [{ denom, amount: BigInt(amount) }] },
        memo,
        timeoutHeight: BigInt(vector.timeoutHeight),
        signers: [{ mode: vector.mode, sequence, publicKey: { type: vector.key } }],
        fee: { gas: BigInt(fee.gas), granter: fee.granter ?? '', payer: '' },
      })
      expect(Buffer.from(signBytesOf(tx, { chainId, accountNumber })!).toString('base64')).toBe(
        vector.signBytes,
      )
    })

    test('is taken as a payment', () => {
      expect(refusalOf(vector, raw)).toBeUndefined()
    })

    test('is refused with any one bit flipped', () => {
      const taken = []
      for (let bit = 0; bit < raw.length * 8; bit += strideOf(vector)) {
        const flipped = Uint8Array.from(raw)
        flipped[bit >> 3]! ^= 1 << (bit & 7)
        if (refusalOf(vector, flipped) === undefined) taken.push(bit)
      }
      expect(taken).toEqual([])
    })

    test('is refused on another chain, and of another account', () => {
      expect(refusalOf({ ...vector, chainId: 'another-1' }, raw)).toMatchObject({ reason: 'invalid_payload' })
      expect(refusalOf({ ...vector, accountNumber: '4711' }, raw)).toMatchObject({
        reason: 'invalid_payload',
      })
    })
  },
)
