import { hexlify, Interface, randomBytes, TypedDataEncoder, Wallet } from 'ethers'
import { hashTypedData } from 'viem'
import { addressTopic, uintWord } from '../../abi'
import { askContract } from '../../signing/eip1271'
import { balanceCall } from '../../tokens/erc20'
import { isSignedByKey } from '../../signing/signature'
import { authorizationDigest, calls, domainSeparator, holdsTransfer } from './authorization'
import type { AuthorizedPayment } from './payment'
import { signPayment, transferTypes, usdc, usdcDomain } from '../../testing/authorization'
import { bitFlips, compact, highTwin, withParityAsV } from '../../testing/signatures'

const separator = domainSeparator(usdc.name, usdc.version, '84532', usdc.asset)
const terms = { payTo: Wallet.createRandom().address, amount: 10_000n }
const digestOf = (payment: AuthorizedPayment) => authorizationDigest(payment, separator)
const typedData = ({ payer, payTo, amount, validAfter, validBefore, nonce }: AuthorizedPayment) => ({
  from: payer,
  to: payTo,
  value: amount,
  validAfter,
  validBefore,
  nonce,
})
const anyPayment = (): AuthorizedPayment => ({
  kind: 'eip3009',
  payer: hexlify(randomBytes(20)),
  payTo: hexlify(randomBytes(20)),
  amount: BigInt(hexlify(randomBytes(32))),
  validAfter: BigInt(hexlify(randomBytes(5))),
  validBefore: BigInt(hexlify(randomBytes(8))),
  validUntil: 0n,
  nonce: hexlify(randomBytes(32)),
  signature: hexlify(randomBytes(65)),
})

describe('the digest', () => {
  test('of the domain and the authorization is that of ethers and viem', () => {
    expect(separator).toBe(TypedDataEncoder.hashDomain(usdcDomain))
    for (let i = 0; i < 50; i++) {
      const payment = anyPayment()
      const digest = hexlify(digestOf(payment))
      expect(digest).toBe(TypedDataEncoder.hash(usdcDomain, transferTypes, typedData(payment)))
      const [domain, message] = [usdcDomain, typedData(payment)] as never[]
      const types = transferTypes
      expect(digest).toBe(
        hashTypedData({ domain, types, primaryType: 'TransferWithAuthorization', message } as never),
      )
    }
  })
})

describe('isSignedByKey', () => {
  test('takes what the payer signed', async () => {
    for (let i = 0; i < 20; i++) {
      const payment = await signPayment(Wallet.createRandom(), terms)
      expect(isSignedByKey(payment, digestOf(payment))).toBe(true)
    }
  })

  test('refuses any one bit flipped in the signature', async () => {
    const payment = await signPayment(Wallet.createRandom(), terms)
    for (const signature of bitFlips(payment.signature))
      expect(isSignedByKey({ ...payment, signature }, digestOf(payment))).toBe(false)
  })

  test('refuses any change of what was signed', async () => {
    const payment = await signPayment(Wallet.createRandom(), terms)
    for (const change of [
      { payer: Wallet.createRandom().address },
      { payTo: payment.payer },
      { amount: payment.amount + 1n },
      { validAfter: payment.validAfter - 1n },
      { validBefore: payment.validBefore + 1n },
      ...[...bitFlips(payment.nonce)].map((nonce) => ({ nonce })),
    ]) {
      const changed = { ...payment, ...change }
      expect(isSignedByKey(changed, digestOf(changed))).toBe(false)
    }
  })

  test('refuses a signature for another chain, token, name or version', async () => {
    for (const change of [
      { chainId: 8453 },
      { verifyingContract: terms.payTo },
      { name: 'USD Coin' },
      { version: '1' },
    ]) {
      const payment = await signPayment(Wallet.createRandom(), terms, {}, { ...usdcDomain, ...change })
      expect(isSignedByKey(payment, digestOf(payment))).toBe(false)
    }
  })

  test('takes v as 0 or 1, and the 64 bytes of EIP-2098', async () => {
    for (let i = 0; i < 20; i++) {
      const payment = await signPayment(Wallet.createRandom(), terms)
      for (const form of [withParityAsV, compact]) {
        const signature = form(payment.signature)
        expect(isSignedByKey({ ...payment, signature }, digestOf(payment))).toBe(true)
      }
    }
  })

  test('refuses the high-s twin in each form, the other v, and every other shape', async () => {
    const payment = await signPayment(Wallet.createRandom(), terms)
    const twin = highTwin(payment.signature)
    const [body, v] = [payment.signature.slice(0, 130), payment.signature.slice(130)]
    for (const signature of [
      twin,
      withParityAsV(twin),
      `${body}${v === '1b' ? '01' : '00'}`,
      `${body}02`,
      `${body}25`,
      `${payment.signature}00`,
      `${body}00${v}`,
      compact(payment.signature).slice(0, -2),
      '0x',
    ])
      expect(isSignedByKey({ ...payment, signature }, digestOf(payment))).toBe(false)
  })
})

describe('calls', () => {
  const words = 'address,address,uint256,uint256,uint256,bytes32'
  const byKey = new Interface([`function transferWithAuthorization(${words},uint8,bytes32,bytes32)`])
  const byWallet = new Interface([
    `function transferWithAuthorization(${words},bytes)`,
    'function isValidSignature(bytes32,bytes)',
    'function authorizationState(address,bytes32)',
    'function balanceOf(address)',
  ])

  test('are encoded as ethers encodes them', () => {
    for (const length of [0, 1, 31, 32, 33, 65, 64, 500]) {
      const payment = { ...anyPayment(), signature: hexlify(randomBytes(length)) }
      const { payer, nonce, signature } = payment
      const digest = randomBytes(32)
      expect(calls.transfer(payment, false)).toBe(
        byWallet.encodeFunctionData('transferWithAuthorization', [
          ...Object.values(typedData(payment)),
          signature,
        ]),
      )
      expect(askContract(digest, signature)).toBe(
        byWallet.encodeFunctionData('isValidSignature', [digest, signature]),
      )
      expect(calls.isAuthorizationUsed(payment)).toBe(
        byWallet.encodeFunctionData('authorizationState', [payer, nonce]),
      )
      expect(balanceCall(payment.payer)).toBe(byWallet.encodeFunctionData('balanceOf', [payer]))
    }
  })

  test('split the signature of a key', async () => {
    const payment = await signPayment(Wallet.createRandom(), terms)
    const { signature } = payment
    const parts = [
      `0x${signature.slice(130)}`,
      `0x${signature.slice(2, 66)}`,
      `0x${signature.slice(66, 130)}`,
    ]
    expect(calls.transfer(payment, true)).toBe(
      byKey.encodeFunctionData('transferWithAuthorization', [...Object.values(typedData(payment)), ...parts]),
    )
  })
})

describe('holdsTransfer', () => {
  const payment = anyPayment()
  const other = anyPayment()
  const AUTHORIZATION_USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
  const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
  const address = usdc.asset.toLowerCase()
  const used = ({ payer, nonce }: AuthorizedPayment) => ({
    address,
    topics: [AUTHORIZATION_USED, addressTopic(payer), nonce],
    data: '0x',
  })
  const transfer = ({ payer, payTo, amount }: Pick<AuthorizedPayment, 'payer' | 'payTo' | 'amount'>) => ({
    address,
    topics: [TRANSFER, addressTopic(payer), addressTopic(payTo)],
    data: `0x${uintWord(amount)}`,
  })
  const holds = (...logs: Parameters<typeof holdsTransfer>[0]) => holdsTransfer(logs, usdc.asset, payment)

  test('finds the transfer of a payment among those of others', () => {
    expect(holds(used(payment), transfer(payment))).toBe(true)
    const foreign = { ...used(other), address: other.payer }
    expect(
      holds(
        used(other),
        transfer(other),
        used(payment),
        foreign,
        transfer(payment),
        used(other),
        transfer(other),
      ),
    ).toBe(true)
  })

  test('needs the authorization of this payment directly before a transfer of exactly its parties and amount', () => {
    expect(holds()).toBe(false)
    expect(holds(used(payment))).toBe(false)
    expect(holds(transfer(payment))).toBe(false)
    expect(holds(transfer(payment), used(payment))).toBe(false)
    expect(holds(used(other), transfer(payment))).toBe(false)
    expect(holds(used(payment), { ...transfer(payment), address: other.payer })).toBe(false)
    for (const change of [{ amount: payment.amount - 1n }, { payTo: other.payTo }, { payer: other.payer }])
      expect(holds(used(payment), transfer({ ...payment, ...change }))).toBe(false)
  })

  test('does not count one transfer for two payments', () => {
    const second = { ...payment, nonce: other.nonce }
    const logs = [
      used(payment),
      transfer({ ...payment, payTo: payment.payer, amount: 0n }),
      used(second),
      transfer(second),
    ]
    expect(holdsTransfer(logs, usdc.asset, second)).toBe(true)
    expect(holdsTransfer(logs, usdc.asset, payment)).toBe(false)
  })
})
