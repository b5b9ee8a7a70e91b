import { MaxUint256, Signature, Wallet } from 'ethers'
import { ChainUnavailable } from '../../../errors'
import { type Refusal, type Terms } from '../../../family'
import { inSeconds, signPayment, usdc } from '../../testing/authorization'
import { openTestChain, type TestChain } from '../../testing/chain'
import { startAlteringProxy } from '../../../json-rpc/testing/node'
import { type Authorization, permit2Domain, permitted, signPermit, signTransfer } from '../../testing/permit2'
import { compact, highTwin, withParityAsV } from '../../testing/signatures'
import { PERMIT2, PROXY } from './contracts'
import type { PermittedPayment } from './payment'

let world: TestChain
/** Has approved Permit2 for all that it has. */
let approver: Wallet
/** Has no ether, has approved nothing, and never pays. */
let payer: Wallet

beforeAll(async () => {
  world = await openTestChain()
  approver = await world.newWallet()
  await world.mint(approver.address, 1_000_000n)
  await approve(approver, MaxUint256)
  payer = await newPayer()
})
afterAll(() => world.close())

/** With nothing but the asset. */
async function newPayer(): Promise<Wallet> {
  const wallet = new Wallet(Wallet.createRandom().privateKey)
  await world.mint(wallet.address, 1_000_000n)
  return wallet
}

const approve = (wallet: Wallet, amount: bigint) =>
  world.send(wallet, usdc.asset, world.tokenCall('approve', [PERMIT2, amount]))

const verify = (payment: PermittedPayment, terms: Partial<Terms> = {}, reserved = 0n, on = world.chain) =>
  on.payments.verify({ payment, terms: { ...world.terms, ...terms }, now: new Date(), reserved })

/** The refusal of a transfer by `approver` that meets the terms but for these changes. */
const refusal = async (changes: Partial<Authorization> = {}, terms: Partial<Terms> = {}) =>
  verify(permitted(await signTransfer(approver, world.terms, changes)), terms)

/** A transfer of `payer` with the token's permit for it, but for these changes. */
async function sponsored(changes: Parameters<typeof signPermit>[3] = {}, from = payer) {
  const permit = await signPermit(from, world.provider, world.terms.amount, changes)
  return permitted({ ...(await signTransfer(from, world.terms)), eip2612GasSponsoring: permit })
}
const because = (reason: string, detail = expect.any(String) as unknown) => ({ reason, detail })
const saying = (words: RegExp) => expect.stringMatching(words) as unknown

describe('verify, of a transfer by Permit2, takes', () => {
  test('one that would settle by an allowance', async () => expect(await refusal()).toBeUndefined())

  test('one of a wallet without ether or allowance, by the token’s permit', async () =>
    expect(await verify(await sponsored())).toBeUndefined())

  test('the recipient, the asset and the spender in any letter case', async () => {
    const lower = (text: string) => text.toLowerCase()
    const changes = {
      spender: lower(PROXY),
      permitted: { token: lower(usdc.asset), amount: '10000' },
      witness: { to: lower(world.terms.payTo), validAfter: '0' },
    }
    const token = { ...usdc, asset: lower(usdc.asset) }
    expect(await refusal(changes, { token, payTo: lower(world.terms.payTo) })).toBeUndefined()
  })

  test('one of a contract that vouches for it', async () => {
    const wallet = await world.newSmartWallet(world.signer)
    const transfer = await signTransfer(world.signer, world.terms, { from: wallet })
    await world.provider.send('anvil_impersonateAccount', [wallet])
    await world.provider.send('anvil_setBalance', [wallet, '0xde0b6b3a7640000'])
    const data = world.tokenCall('approve', [PERMIT2, MaxUint256])
    await world.provider.send('eth_sendTransaction', [{ from: wallet, to: usdc.asset, data }])
    await world.mine()
    expect(await verify(permitted(transfer))).toBeUndefined()
  })

  test('one whose permit somebody else has handed in', async () => {
    const payment = await sponsored({}, await newPayer())
    await handIn(payment)
    expect(await verify(payment)).toBeUndefined()
  })

  test('one whose permit is of no use, where Permit2 may move the asset anyway', async () => {
    expect(await verify(await sponsored({ nonce: '99' }, approver))).toBeUndefined()
    expect(await verify(await sponsored({ amount: '1' }, approver))).toBeUndefined()
  })
})

/** Hands the token's permit in, as anybody may who has seen it. */
async function handIn({ permit }: PermittedPayment): Promise<void> {
  if (permit === undefined) throw new Error('The payment brings no permit')
  const { v, r, s } = Signature.from(permit.signature)
  await world.send(
    world.payer,
    usdc.asset,
    world.tokenCall('permit(address,address,uint256,uint256,uint8,bytes32,bytes32)', [
      permit.owner,
      permit.spender,
      permit.value,
      permit.deadline,
      v,
      r,
      s,
    ]),
  )
}

describe('verify, of a transfer by Permit2, refuses', () => {
  const to = (address: string) => ({ witness: { to: address, validAfter: '0' } })
  const amount = (value: string, token = usdc.asset) => ({ permitted: { token, amount: value } })

  test.each<[string, string, () => Promise<Refusal | undefined>]>([
    [
      'another recipient',
      'invalid_exact_evm_payload_recipient_mismatch',
      () => refusal(to(world.signer.address)),
    ],
    ['one less', 'invalid_exact_evm_payload_authorization_value', () => refusal(amount('9999'))],
    ['one more', 'invalid_exact_evm_payload_authorization_value', () => refusal(amount('10001'))],
    ['another asset', 'invalid_payment', () => refusal(amount('10000', world.signer.address))],
    ['another spender', 'invalid_payment', () => refusal({ spender: world.signer.address })],
    [
      'a payer that pays itself',
      'invalid_payment',
      () => refusal(to(approver.address), { payTo: approver.address }),
    ],
    [
      'terms that pay our signer',
      'invalid_payment_requirements',
      () => refusal(to(world.signer.address), { payTo: world.signer.address }),
    ],
    [
      'another domain than the token’s',
      'invalid_payment_requirements',
      () => refusal({}, { extra: { version: '1' } }),
    ],
    [
      'one that is not valid yet',
      'invalid_exact_evm_payload_authorization_valid_after',
      () => refusal({ witness: { to: world.terms.payTo, validAfter: inSeconds(60) } }),
    ],
    [
      'one that is over',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => refusal({ deadline: inSeconds(-1) }),
    ],
    [
      'one that ends before it could be settled',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => refusal({ deadline: inSeconds(world.settings.minRemainingValiditySeconds - 2) }),
    ],
    [
      'one that lives past two days',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => refusal({ deadline: inSeconds(2 * 86_400 + 60) }),
    ],
    [
      'one that never ends',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => refusal({ deadline: MaxUint256.toString() }),
    ],
    [
      'somebody else’s signature',
      'invalid_exact_evm_payload_signature',
      () => refusal({ from: world.payer.address }),
    ],
  ])('%s', async (_, reason, refused) => {
    expect(await refused()).toEqual(because(reason))
  })

  test('a signature in the domain of another contract or chain, its high twin, and one with the suffix of a wrapper', async () => {
    for (const domain of [
      { ...permit2Domain, chainId: 8453 },
      { ...permit2Domain, verifyingContract: PROXY },
      { ...permit2Domain, version: '1' },
    ]) {
      const payment = permitted(await signTransfer(approver, world.terms, {}, domain))
      const { name, chainId, verifyingContract } = permit2Domain
      expect(await verify(payment)).toEqual(
        because(
          'invalid_exact_evm_payload_signature',
          `not signed by ${approver.address} in the EIP-712 domain name "${name}", chainId ${chainId}, verifyingContract "${verifyingContract}"`,
        ),
      )
    }
    const payload = await signTransfer(approver, world.terms)
    const signed = (signature: string) => verify(permitted({ ...payload, signature }))
    expect(await signed(highTwin(payload.signature))).toEqual(because('invalid_exact_evm_payload_signature'))
    expect(await signed(`${payload.signature}${'6492'.repeat(16)}`)).toEqual(
      because('invalid_exact_evm_payload_signature'),
    )
  })

  test('more than the payer has, beside what is reserved', async () => {
    const payment = permitted(await signTransfer(approver, world.terms))
    const rest = (await world.balance(approver.address)) - world.terms.amount
    expect(await verify(payment, {}, rest)).toBeUndefined()
    expect(await verify(payment, {}, rest + 1n)).toEqual(because('insufficient_funds'))
  })

  test('one without an allowance or a permit', async () => {
    const payment = permitted(await signTransfer(payer, world.terms))
    expect(await verify(payment)).toEqual(
      because('invalid_transaction_state', saying(/may move 0 USDC, and there is no permit/)),
    )
  })

  test.each<[string, RegExp, (payer: Wallet) => Promise<PermittedPayment>]>([
    ['for another spender', /not for this payment/, () => sponsored({ spender: PROXY })],
    ['of another owner', /not for this payment/, () => sponsored({ from: world.signer.address })],
    ['of another asset', /not for this payment/, () => sponsored({ asset: PROXY })],
    ['of less', /not for this payment/, () => sponsored({ amount: '9999' })],
    ['of more, which the proxy does not take', /not for this payment/, () => sponsored({ amount: '10001' })],
    ['of another number', /number 1, not 0/, () => sponsored({ nonce: '1' })],
    ['that ends too early', /ends before/, () => sponsored({ deadline: inSeconds(5) })],
    [
      'that somebody else signed',
      /revert/,
      async () => {
        const { info } = await signPermit(world.signer, world.provider, 10_000n, { nonce: '0' })
        const eip2612GasSponsoring = { info: { ...info, from: payer.address } }
        return permitted({ ...(await signTransfer(payer, world.terms)), eip2612GasSponsoring })
      },
    ],
  ])('one without an allowance whose permit is %s', async (_, words, made) => {
    expect(await verify(await made(payer))).toEqual(because('invalid_transaction_state', saying(words)))
  })

  test('one that brings a permit while others of its payer are on their way, and one that would share an allowance', async () => {
    expect(await verify(await sponsored(), {}, 1n)).toEqual(because('insufficient_funds'))
    expect(await verify(await sponsored({}, approver), {}, 1n)).toEqual(because('insufficient_funds'))
    const wallet = await world.newWallet()
    await world.mint(wallet.address, 1_000_000n)
    await approve(wallet, world.terms.amount + 5n)
    const payment = permitted(await signTransfer(wallet, world.terms))
    expect(await verify(payment, {}, 5n)).toBeUndefined()
    expect(await verify(payment, {}, 6n)).toEqual(
      because('insufficient_funds', saying(/may move 0.010005 USDC/)),
    )
  })

  test('a permit that would lower what Permit2 may move, however soon it ends, and takes the same payment without it', async () => {
    for (const changes of [{}, { deadline: inSeconds(2) }]) {
      const payment = await sponsored(changes, approver)
      expect(await verify(payment)).toEqual(
        because('invalid_transaction_state', saying(/would lower that: pay without it/)),
      )
      const { permit, ...bare } = payment
      expect(permit).toBeDefined()
      expect(await verify(bare)).toBeUndefined()
    }
  })

  test('one that was settled, and one that was given up', async () => {
    const settled = permitted(await signTransfer(approver, world.terms))
    expect(await world.settle(settled)).toMatchObject({ isSettled: true })
    expect(await verify(settled)).toEqual({
      ...because('invalid_transaction_state', saying(/used or given up/)),
      isSpent: true,
    })
    const same = await signTransfer(approver, world.terms, { nonce: settled.permitNonce.toString() })
    expect(await verify(permitted(same))).toMatchObject(because('invalid_transaction_state'))
  })

  test('one that the chain would not take, for whatever reason', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method, params }, reply) => {
      const [{ data = '' } = {}] = params as [{ data?: string } | undefined]
      return method === 'eth_call' && data.length > 500
        ? { error: { code: 3, message: 'execution reverted: paused' } }
        : reply
    })
    const payment = permitted(await signTransfer(approver, world.terms))
    expect(await verify(payment, {}, 0n, world.connect({ rpcUrls: [node.url] }))).toEqual(
      because('invalid_transaction_state', saying(/paused/)),
    )
    await node.close()
  })

  test.each([
    ['no Permit2', PERMIT2],
    ['no proxy', PROXY],
    ['no ear for allowances', usdc.asset],
  ])('all of them on a network that has %s, and lists no extension', async (_, missing) => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method, params }, reply) => {
      const [first] = params as [{ to?: string } | string | undefined]
      const asked = typeof first === 'object' ? first.to : first
      return (method === 'eth_call' || method === 'eth_getCode') && asked === missing
        ? { result: '0x' }
        : reply
    })
    const chain = world.connect({ rpcUrls: [node.url] })
    const payment = permitted(await signTransfer(approver, world.terms))
    expect(await verify(payment, {}, 0n, chain)).toEqual(because('invalid_payment_requirements'))
    expect(await chain.payments.extensions()).toEqual(missing === usdc.asset ? ['eip2612GasSponsoring'] : [])
    await node.close()
  })
})

describe('verify, of a transfer by Permit2', () => {
  test('asks the chain once, and only about what it cannot know', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, (_, reply) => reply)
    const chain = world.connect({ rpcUrls: [node.url] })
    await chain.node.head()
    node.requests.length = 0
    const wrong = permitted(await signTransfer(approver, { ...world.terms, amount: 1n }))
    expect(await verify(wrong, {}, 0n, chain)).toBeDefined()
    expect(node.requests).toHaveLength(0)
    expect(await verify(await sponsored(), {}, 0n, chain)).toBeUndefined()
    expect(node.requests).toHaveLength(1)
    await node.close()
  })

  test('never takes a chain that cannot be asked for a refusal, nor for a consent', async () => {
    const away = world.connect({ rpcUrls: ['http://127.0.0.1:9'] })
    await expect(verify(await sponsored(), {}, 0n, away)).rejects.toThrow(ChainUnavailable)
  })
})

describe('a transfer by Permit2', () => {
  test('moves exactly its amount to its recipient, for a wallet without ether or allowance, and leaves no allowance', async () => {
    const payer = await newPayer()
    const payment = await sponsored({}, payer)
    const before = await world.balance(world.terms.payTo)
    expect(await world.settle(payment)).toMatchObject({ isSettled: true, succeeded: true })
    expect(await world.balance(world.terms.payTo)).toBe(before + world.terms.amount)
    expect(await world.balance(payer.address)).toBe(1_000_000n - world.terms.amount)
    const again = permitted(await signTransfer(payer, world.terms))
    expect(await verify(again)).toEqual(because('invalid_transaction_state', saying(/may move 0 USDC/)))
  })

  test.each([
    ['v as 0 or 1', withParityAsV],
    ['the 64 bytes of EIP-2098', compact],
  ])('settles where its signature, and its permit’s, have %s', async (_, form) => {
    const payer = await newPayer()
    const permit = await signPermit(payer, world.provider, world.terms.amount)
    const payload = await signTransfer(payer, world.terms)
    const payment = permitted({
      ...payload,
      signature: form(payload.signature),
      eip2612GasSponsoring: { info: { ...permit.info, signature: form(permit.info.signature) } },
    })
    expect(await verify(payment)).toBeUndefined()
    expect(await world.settle(payment)).toMatchObject({ isSettled: true })
  })

  test('settles though somebody else hands its permit in after it was signed', async () => {
    const payment = await sponsored({}, await newPayer())
    const transaction = await world.sign(payment)
    await handIn(payment)
    const mined = await world.carryOut(transaction)
    expect(mined.settles(payment, world.terms)).toBe(true)
  })

  test('is in a batch of its own', async () => {
    const pay = async () => world.pending(permitted(await signTransfer(approver, world.terms)))
    const authorized = async () => world.pending(await signPayment(world.payer, world.terms))
    const pending = [await pay(), await authorized(), await pay(), await authorized()]
    expect(
      (await world.chain.payments.batches(pending)).map((batch) => batch.map((one) => pending.indexOf(one))),
    ).toEqual([[0], [1, 3], [2]])
  })

  test('is settled by no transaction that does not hold it', async () => {
    const payment = permitted(await signTransfer(approver, world.terms))
    const authorized = await signPayment(approver, world.terms)
    const mined = await world.carryOut(await world.sign(authorized))
    expect(mined.settles(authorized, world.terms)).toBe(true)
    expect(mined.settles(payment, world.terms)).toBe(false)
  })
})
