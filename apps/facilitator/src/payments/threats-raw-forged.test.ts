import { closeAll } from '@tollgate/testing'
import {
  type BaseWallet,
  decodeRlp,
  encodeRlp,
  Signature,
  toBeHex,
  Transaction,
  type TransactionLike,
  Wallet,
  ZeroAddress,
} from 'ethers'
import { ownChain, transactionCount } from '../testing/chain'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { outcomeOf } from '../testing/outcome'
import { AMOUNT } from '../testing/payment'
import {
  GWEI,
  legacyFees,
  newSender,
  payTo,
  rawOf,
  rawRequest,
  tokenCall,
  transactionOf,
  transfer,
} from '../testing/raw-transfer'

let rpcUrl: string
let harness: FacilitatorWithClient
beforeAll(async () => {
  ;({ rpcUrl } = await ownChain())
  harness = await facilitatorWithClient({ rpcUrl })
})
afterAll(closeAll)
const payerOn = (url = rpcUrl) => newSender(url)

describe('verify and settle refuse for the same reason, claim nothing and send nothing, if the transaction', () => {
  const other = Wallet.createRandom().address
  const STATE = 'invalid_transaction_state'
  test.each<[string, string, TransactionLike, { payTo?: string; maxAmountRequired?: string }?]>([
    ['is for another chain', 'invalid_network', { chainId: 8453 }],
    ['calls another contract than the asset', 'invalid_payment', { to: other }],
    ['pays another recipient', 'invalid_exact_evm_payload_recipient_mismatch', { data: transfer(other) }],
    [
      'pays one unit less',
      'invalid_exact_evm_payload_authorization_value',
      { data: transfer(payTo, AMOUNT - 1n) },
    ],
    [
      'pays one unit more',
      'invalid_exact_evm_payload_authorization_value',
      { data: transfer(payTo, AMOUNT + 1n) },
    ],
    [
      'pays nothing, as is required',
      'invalid_payment_requirements',
      { data: transfer(payTo, 0n) },
      { maxAmountRequired: '0' },
    ],
    [
      'pays the zero address, as is required',
      'invalid_payment_requirements',
      { data: transfer(ZeroAddress) },
      { payTo: ZeroAddress },
    ],
    [
      'pays more than its payer has',
      'insufficient_funds',
      { data: transfer(payTo, 10n ** 12n) },
      { maxAmountRequired: String(10n ** 12n) },
    ],
    ['leaves a nonce out', STATE, { nonce: 1 }],
    ['offers less than the base fee', STATE, { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }],
    ['has no priority fee', STATE, { maxPriorityFeePerGas: 0n }],
    ['has too little gas', STATE, { gasLimit: 25_000 }],
    ['would fill a block', 'invalid_payment', { gasLimit: 20_000_000 }],
    ['costs more for gas than its payer has', 'insufficient_funds', { maxFeePerGas: 30_000n * GWEI }],
  ])('%s', async (_, reason, changes, requirements = {}) => {
    const payer = await payerOn()
    await harness.expectRefused(await rawRequest(rawOf(payer, changes), requirements), reason)
    expect(await transactionCount(rpcUrl, payer.address)).toBe(0)
  })

  test('pays the payer itself', async () => {
    const payer = await payerOn()
    const raw = rawOf(payer, { data: transfer(payer.address) })
    await harness.expectRefused(await rawRequest(raw, { payTo: payer.address }), 'invalid_payment')
  })
})

describe('answers 400 INVALID_PAYLOAD, and nothing is sent, to', () => {
  const call = transfer()
  const signed = (payer: BaseWallet, changes: TransactionLike) => rawOf(payer, changes)
  /** With the signature's s negated: valid before EIP-2, and with another hash. */
  function toHighS(payer: BaseWallet): string {
    const transaction = Transaction.from(rawOf(payer, legacyFees))
    const { s, yParity } = transaction.signature!
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const fields = decodeRlp(transaction.serialized) as string[]
    const v = 84532n * 2n + 35n + BigInt(1 - yParity)
    return encodeRlp([...fields.slice(0, 6), toBeHex(v), fields[7]!, toBeHex(order - BigInt(s), 32)])
  }
  test.each<[string, (payer: BaseWallet) => string]>([
    ['a transaction that also sends ether', (payer) => signed(payer, { value: 1n })],
    ['one that creates a contract', (payer) => signed(payer, { to: null })],
    ['an approval', (payer) => signed(payer, { data: tokenCall('approve', payTo, AMOUNT) })],
    [
      'a transfer from another account',
      (payer) => signed(payer, { data: tokenCall('transferFrom', payer.address, payTo, AMOUNT) }),
    ],
    ['a transfer with bytes after it', (payer) => signed(payer, { data: `${call}00` })],
    ['a transfer that is cut short', (payer) => signed(payer, { data: call.slice(0, -2) })],
    [
      'a recipient with bytes in its padding',
      (payer) =>
        signed(payer, {
          data: call.replace('0x' + call.slice(2, 10) + '00', '0x' + call.slice(2, 10) + '01'),
        }),
    ],
    ['one for any chain (before EIP-155)', (payer) => signed(payer, { ...legacyFees, chainId: 0 })],
    [
      'one with blobs',
      (payer) =>
        signed(payer, { type: 3, maxFeePerBlobGas: 1n, blobVersionedHashes: [`0x01${'0'.repeat(62)}`] }),
    ],
    [
      'one that hands an account over (EIP-7702)',
      (payer) =>
        signed(payer, {
          type: 4,
          authorizationList: [
            {
              address: payTo,
              nonce: 0n,
              chainId: 84532n,
              signature: Signature.from(payer.signingKey.sign(`0x${'5c'.repeat(32)}`)),
            },
          ],
        }),
    ],
    ['an unsigned one', () => transactionOf().unsignedSerialized],
    ['the high-s form', toHighS],
    // RLP encodes a zero chain id or nonce as no bytes, not as a zero byte.
    ['one with a number written otherwise', (payer) => rawOf(payer).replace('83014a3480', '83014a3400')],
    ['one with a byte after its end', (payer) => `${rawOf(payer)}00`],
    ['one that is cut short', (payer) => rawOf(payer).slice(0, -2)],
    ['one in odd digits', (payer) => `${rawOf(payer)}0`],
    ['one without its type', (payer) => `0x${rawOf(payer).slice(4)}`],
    ['no bytes', () => '0x'],
    ['other bytes', () => `0x02${'c0'.repeat(40)}`],
    ['too many bytes', () => `0x02${'00'.repeat(30_000)}`],
  ])('%s', async (_, forge) => {
    const payer = await payerOn()
    const { api, database } = harness.facilitator
    const claims = await database.prisma.settlement.count()
    for (const path of ['/api/v1/verify', '/api/v1/settle'])
      for (const write of [(raw: string) => raw, (raw: string) => ({ type: 'raw_tx', rawTx: raw })]) {
        const answer = await api
          .post(path)
          .set(harness.client)
          .send(await rawRequest(write(forge(payer))))
        expect([path, ...outcomeOf(answer)]).toEqual([path, 400, 'INVALID_PAYLOAD'])
      }
    expect(await database.prisma.settlement.count()).toBe(claims)
    expect(await transactionCount(rpcUrl, payer.address)).toBe(0)
  })
})
