import { encodeJson } from '@tollgate/protocol'
import { concat, decodeRlp, encodeRlp, Signature, toBeHex, Transaction, Wallet } from 'ethers'
import { readPayment } from '../payment'
import { signPayload, usdc } from '../../testing/authorization'
import { rawPayment, transferData, transferFor } from '../../testing/raw-transfer'

const wallet = new Wallet(Wallet.createRandom().privateKey)
const terms = { payTo: Wallet.createRandom().address, amount: 10_000n }
const signed = (changes: Parameters<typeof transferFor>[1] = {}) =>
  wallet.signTransaction(transferFor(terms, changes))
const legacy = { type: 0, gasPrice: 5_000_000_000n, maxFeePerGas: null, maxPriorityFeePerGas: null }

/** The same transaction with its RLP list altered. */
function rewritten(raw: string, change: (fields: string[]) => unknown[]): string {
  const fields = decodeRlp(`0x${raw.slice(4)}`) as string[]
  return concat([raw.slice(0, 4), encodeRlp(change(fields) as never)])
}

describe('readPayment, of a raw transaction', () => {
  test('reads it in each of its forms', async () => {
    const rawTx = await signed({ nonce: 7 })
    const read = {
      kind: 'rawTransfer',
      payer: wallet.address,
      payTo: terms.payTo,
      amount: 10_000n,
      nonce: 'account-nonce 7',
      transaction: { raw: rawTx, hash: Transaction.from(rawTx).hash },
      chainId: 84532n,
      asset: usdc.asset,
      data: transferData(terms),
      accountNonce: 7n,
      gasLimit: 100_000n,
      maxFeePerGas: 20_000_000_000n,
      maxPriorityFeePerGas: 2_000_000_000n,
      accessList: [],
    }
    const forms = [{ type: 'raw_tx', rawTx }, { type: 'rawTx', rawTx }, { rawTx }]
    for (const form of [...forms, ...forms.map(encodeJson), rawTx]) expect(readPayment(form)).toEqual(read)
    expect(readPayment(rawTx)?.validUntil).toBeUndefined()
  })

  test('takes a transaction of type 0, 1 or 2, with a small access list', async () => {
    const accessList = [{ address: usdc.asset, storageKeys: [toBeHex(1, 32)] }]
    expect(rawPayment(await signed(legacy))).toMatchObject({
      payer: wallet.address,
      maxFeePerGas: 5_000_000_000n,
      maxPriorityFeePerGas: 5_000_000_000n,
    })
    for (const changes of [{ ...legacy, type: 1, accessList }, { accessList }])
      expect(rawPayment(await signed(changes))).toMatchObject({ payer: wallet.address, accessList })
  })

  test('spells one transaction one way, whatever the letter case', async () => {
    const raw = await signed()
    const shouting = raw.toUpperCase()
    for (const form of [shouting, shouting.replace('X', 'x'), { rawTx: shouting }])
      expect(readPayment(form)).toEqual(readPayment(raw))
  })

  test('names the account nonce as no authorization names its own', async () => {
    const { authorization } = await signPayload(wallet, terms)
    const nonces = [
      rawPayment(await signed({ nonce: 0 })).nonce,
      rawPayment(await signed({ nonce: 1 })).nonce,
    ]
    expect(new Set([...nonces, authorization.nonce]).size).toBe(3)
    for (const nonce of nonces) expect(nonce).not.toMatch(/^0x/)
  })
})

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

describe('readPayment refuses', () => {
  const data = transferData(terms)
  test.each<[string, Parameters<typeof transferFor>[1]]>([
    ['a transaction of no chain', { ...legacy, chainId: 0 }],
    ['the creation of a contract', { to: null }],
    ['ether beside the transfer', { value: 1n }],
    ['an approval', { data: `0x095ea7b3${data.slice(10)}` }],
    ['a transfer from somebody else', { data: `0x23b872dd${'0'.repeat(64)}${data.slice(10)}` }],
    ['no call', { data: '0x' }],
    ['a byte after the call', { data: `${data}00` }],
    ['a word after the call', { data: `${data}${'0'.repeat(64)}` }],
    ['a byte too few', { data: data.slice(0, -2) }],
    ['an address with something in its padding', { data: `${data.slice(0, 10)}01${data.slice(12)}` }],
    [
      'an access list longer than any transfer needs',
      { accessList: [{ address: usdc.asset, storageKeys: Array<string>(40).fill(toBeHex(1, 32)) }] },
    ],
  ])('%s', async (_, changes) => expect(readPayment(await signed(changes))).toBeUndefined())

  test('an unsigned transaction', () => {
    const unsigned = Transaction.from(transferFor(terms) as never)
    expect(readPayment(unsigned.unsignedSerialized)).toBeUndefined()
  })

  test('blobs, and accounts that are handed over', () => {
    const blobs = Transaction.from({
      ...(transferFor(terms) as object),
      type: 3,
      maxFeePerBlobGas: 1n,
      blobVersionedHashes: [`0x01${'ab'.repeat(31)}`],
    })
    const handover = Transaction.from({
      ...(transferFor(terms) as object),
      type: 4,
      authorizationList: [
        {
          address: usdc.asset,
          nonce: 0n,
          chainId: 84532n,
          signature: Signature.from(wallet.signingKey.sign(`0x${'ab'.repeat(32)}`)),
        },
      ],
    })
    for (const transaction of [blobs, handover]) {
      transaction.signature = wallet.signingKey.sign(transaction.unsignedHash)
      expect(Transaction.from(transaction.serialized).from).toBe(wallet.address)
      expect(readPayment(transaction.serialized)).toBeUndefined()
    }
  })

  test('every other spelling of a transaction that it takes', async () => {
    const raw = await signed({ nonce: 1 })
    const spellings = {
      'bytes behind it': `${raw}00`,
      'a nonce with a leading zero': rewritten(raw, ([chain, , ...rest]) => [chain, '0x0001', ...rest]),
      'the number zero as a byte': rewritten(raw, (fields) =>
        fields.map((field, i) => (i === 6 ? '0x00' : field)),
      ),
      'a parity with a leading zero': rewritten(raw, (fields) =>
        fields.map((field, i) => (i === 9 ? concat(['0x00', field]) : field)),
      ),
      'the high-s twin': rewritten(raw, (fields) =>
        fields.map((field, i) => {
          if (i === 9) return field === '0x' ? '0x01' : '0x'
          return i === 11 ? toBeHex(ORDER - BigInt(field)) : field
        }),
      ),
      'a long length': concat([raw.slice(0, 4), '0xf900', `0x${raw.slice(6)}`]),
    }
    expect(rewritten(raw, (fields) => fields)).toBe(raw)
    for (const [name, spelling] of Object.entries(spellings))
      expect([name, readPayment(spelling)]).toEqual([name, undefined])
  })

  test('the high-s twin of a legacy transaction', async () => {
    const raw = await signed(legacy)
    const fields = decodeRlp(raw) as string[]
    const twin = encodeRlp(
      fields.map((field, i) => {
        if (i === 6) return toBeHex(BigInt(field) % 2n === 0n ? BigInt(field) - 1n : BigInt(field) + 1n)
        return i === 8 ? toBeHex(ORDER - BigInt(field)) : field
      }),
    )
    expect(readPayment(raw)).toBeDefined()
    expect(Transaction.from(twin).serialized).toBe(twin)
    expect(readPayment(twin)).toBeUndefined()
  })

  test('any one bit flipped, or another payer for it', async () => {
    const raw = await signed()
    for (let i = 2; i < raw.length; i++) {
      const flipped = raw.slice(0, i) + (Number.parseInt(raw[i]!, 16) ^ 1).toString(16) + raw.slice(i + 1)
      const read = readPayment(flipped)
      if (read !== undefined) expect([i, read.payer]).not.toEqual([i, wallet.address])
    }
  })

  test('what could be read in two ways, and words of another kind', async () => {
    const rawTx = await signed()
    const authorization = await signPayload(wallet, terms)
    for (const payload of [
      { rawTx, ...authorization },
      { type: 'eip3009', rawTx },
      { type: 'raw_tx', ...authorization, rawTx },
      { type: 'raw_tx', eip3009: { rawTx } },
      { type: 'raw_tx', rawTx: [rawTx] },
      { type: 'raw_tx', rawTx: rawTx.slice(2) },
      { type: 'raw_tx', rawTx: `${rawTx} ` },
      ` ${rawTx}`,
      Buffer.from(rawTx.slice(2), 'hex').toString('base64'),
    ])
      expect(readPayment(payload)).toBeUndefined()
  })

  test.each([
    '0x',
    '0x0',
    '0x02',
    '0xzz',
    `0x02f8${'ab'.repeat(100)}`,
    `0x${'ff'.repeat(2_000)}`,
    '0xc0',
    '0x80',
  ])('takes %p for no transaction', (text) => expect(readPayment(text)).toBeUndefined())
})
