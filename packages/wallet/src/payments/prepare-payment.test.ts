import { createEvents } from '../events'
import { type Limits, type ProposedPayment } from '../limits'
import { memoryStorage } from '../storage/memory-storage'
import { type Wallet } from '../wallets/wallet'
import { type Offer } from './offer'
import { createPaymentLog } from './payment-log'
import { createPreparePayment } from './prepare-payment'

const NOW = Date.parse('2026-11-25T12:00:00Z')
const terms = { network: 'cosmos:hub-1', asset: 'uusdc', payTo: 'cosmos1shop', amount: 100n }
const offer = {
  ...terms,
  x402Version: 2,
  scheme: 'exact',
  extra: {},
  entry: {},
  maxTimeoutSeconds: 60,
} as Offer
const usdc = { network: 'cosmos:hub-1', asset: 'uusdc', perPayment: 100n }
const atom = { network: 'cosmos:hub-1', asset: 'uatom', perPayment: 10n }
const never = () => new Promise<never>(() => undefined)

type Given = Partial<Wallet> & {
  limits: Limits | undefined
  fee?: { asset: string; amount: bigint }
  offered?: Offer
}

/** A wallet that counts its signatures. */
function setUp({ limits, fee, offered = offer, ...changes }: Given) {
  const storage = memoryStorage()
  const log = createPaymentLog(storage, () => NOW)
  const closing = new AbortController()
  const signed: string[] = []
  const sign = () => {
    signed.push('signed')
    return Promise.resolve({ payer: 'cosmos1me', payload: {}, nonce: '1', validUntil: NOW / 1000 + 60 })
  }
  const wallet: Wallet = {
    ecosystem: 'cosmos',
    address: () => Promise.resolve('cosmos1me'),
    signText: never,
    canPay: () => true,
    draftPayment: () => Promise.resolve({ sign, ...(fee && { fee }) }),
    ...changes,
  }
  const events = createEvents()
  const parts = { wallet, limits, log, storage, events, closed: closing.signal }
  const { prepare, findRefusal } = createPreparePayment({ ...parts, now: () => NOW, nodeUrl: never })
  const required = { offers: [offered], error: undefined, clockSkew: 0, resource: undefined, extensions: {} }
  const wish = {
    url: 'https://shop.example/report',
    purpose: 'GET report',
    id: 'a',
    required,
    isSingle: false,
  }
  const pay = (signal?: AbortSignal, isSingle = false) => prepare({ ...wish, isSingle, signal })
  return { pay, findRefusal, signed, closing, storage, log }
}

describe('a fee that the payer bears', () => {
  const fee = { asset: 'uatom', amount: 10n }

  test.each<[string, Limits['assets'], object | undefined]>([
    ['of an asset that is not listed', [usdc], { code: 'LIMIT_NOT_SET', details: { limit: 'assets' } }],
    ['of more than a payment of it', [usdc, { ...atom, perPayment: 9n }], { code: 'LIMIT_REACHED' }],
    ['of more than its day', [usdc, { ...atom, perDay: 9n }], { code: 'LIMIT_REACHED' }],
    ['of exactly its limits', [usdc, { ...atom, perDay: 10n }], undefined],
  ])('%s', async (_name, assets, refusal) => {
    const { pay, signed } = setUp({ limits: { assets }, fee })
    if (refusal) await expect(pay()).rejects.toMatchObject(refusal)
    else await pay()
    expect(signed).toHaveLength(refusal ? 0 : 1)
  })

  test('counts for the day with the amount, where both are of one asset', async () => {
    const assets = [{ ...usdc, perDay: 205n }]
    const { pay, signed } = setUp({ limits: { assets }, fee: { asset: 'uusdc', amount: 5n } })
    await pay()
    await expect(pay()).rejects.toMatchObject({ code: 'LIMIT_REACHED', details: { limit: 'perDay' } })
    expect(signed).toHaveLength(1)
  })

  test.each([
    [10n, undefined],
    [11n, { code: 'LIMIT_REACHED' }],
  ])('that the wallet’s user raised to %s is held to the limits, too', async (amount, refusal) => {
    const raised = { asset: 'uatom', amount }
    const sign = () => Promise.resolve({ payer: 'cosmos1me', payload: {}, nonce: '1', fee: raised })
    const draftPayment = () => Promise.resolve({ sign, fee: { asset: 'uatom', amount: 1n } })
    const { pay, log } = setUp({ limits: { assets: [usdc, atom] }, draftPayment })
    if (refusal) await expect(pay()).rejects.toMatchObject(refusal)
    else await pay()
    const fees = (await log.list('cosmos1me')).map((stored) => stored.fee)
    expect(fees).toEqual(refusal ? [] : [{ asset: 'uatom', amount: '10' }])
  })

  test('is shown to the callback, and stored', async () => {
    const asked: ProposedPayment[] = []
    const approve = (payment: ProposedPayment) => asked.push(payment) > 0
    const { pay } = setUp({ limits: { assets: [usdc, atom], approve }, fee })
    expect(await pay()).toMatchObject({ fee: { asset: 'uatom', amount: '10' } })
    expect(asked).toEqual([{ ...terms, url: 'https://shop.example/report', fee }])
  })
})

test('the callback is asked with the price of a known asset in decimals', async () => {
  const asked: ProposedPayment[] = []
  const known = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }
  const approve = (payment: ProposedPayment) => asked.push(payment) > 0
  const limits = { assets: [{ ...known, perPayment: '0.01 USDC' }], approve }
  await setUp({ limits, offered: { ...offer, ...known, amount: 10_000n } }).pay()
  const price = { value: '0.01', decimals: 6, symbol: 'USDC' }
  expect(asked).toMatchObject([{ amount: 10_000n, price }])
})

test('returns the open payment of a purpose that may have only one, and says so in the log', async () => {
  const { pay, signed, log } = setUp({ limits: { assets: [usdc] } })
  const stored = await pay(undefined, true)
  expect(await pay(undefined, true)).toEqual(stored)
  expect([signed.length, await log.list('cosmos1me')]).toEqual([1, [{ ...stored, isSingle: true }]])
})

describe('a payment that a client with other limits has signed', () => {
  const stored = {
    ...{
      position: 1,
      id: 'earlier',
      payer: 'cosmos1me',
      purpose: 'GET report',
      url: 'https://shop.example/report',
    },
    ...{ ...terms, amount: '100', fee: { asset: 'uatom', amount: '10' }, state: 'open' as const },
    ...{ signedAt: NOW - 60_000, validUntil: NOW / 1000 + 90, header: {} },
  }
  const old = { ...stored, signedAt: NOW - 13 * 3_600_000 }
  const [session, day] = [
    { ...usdc, perSession: 199n },
    { ...usdc, perDay: 199n },
  ]

  test.each<[string, Limits | undefined, typeof stored, string | undefined]>([
    ['within the limits', { assets: [usdc, atom] }, stored, undefined],
    ['without limits', undefined, stored, 'LIMIT_NOT_SET'],
    ['of another asset', { assets: [atom] }, stored, 'LIMIT_NOT_SET'],
    ['above perPayment', { assets: [{ ...usdc, perPayment: 99n }, atom] }, stored, 'LIMIT_REACHED'],
    ['above perDay', { assets: [{ ...usdc, perDay: 99n }, atom] }, stored, 'LIMIT_REACHED'],
    ['to another recipient', { assets: [usdc, atom], recipients: ['cosmos1a'] }, stored, 'LIMIT_REACHED'],
    ['with a fee above its limit', { assets: [usdc, { ...atom, perPayment: 9n }] }, stored, 'LIMIT_REACHED'],
    ['that counts once for its day', { assets: [{ ...usdc, perDay: 100n }, atom] }, stored, undefined],
    ['of yesterday, above perDay', { assets: [{ ...usdc, perDay: 99n }, atom] }, old, 'LIMIT_REACHED'],
  ])('%s', async (_name, limits, payment, code) => {
    const { pay, findRefusal, signed, storage } = setUp({ limits })
    await storage.create('payments/cosmos1me/0000000001', JSON.stringify(payment))
    const refuse = await findRefusal(payment)
    expect(refuse?.().code).toBe(code)
    if (code === undefined) expect(await pay(undefined, true)).toMatchObject({ id: 'earlier' })
    else await expect(pay(undefined, true)).rejects.toMatchObject({ code })
    expect(signed).toEqual([])
  })

  test('says until when it is open, and what forbids it', async () => {
    const known = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }
    const { findRefusal } = setUp({ limits: { assets: [{ ...known, perPayment: '0.00009 USDC' }] } })
    const refusal = (await findRefusal({ ...stored, ...known }))?.()
    expect(refusal?.message).toBe(
      'A payment of 0.0001 USDC was signed earlier and is open until 12:03 UTC, when it ends by itself. It was not sent, and no other one is signed in its place: A payment of 0.0001 USDC exceeds the limit perPayment of 0.00009 USDC',
    )
    expect(refusal?.details).toMatchObject({
      ...{ amount: 100n, limit: 'perPayment', signedAt: stored.signedAt, openUntil: NOW / 1000 + 150 },
    })
  })

  test.each([
    ['perSession', session],
    ['perDay', day],
  ])('counts for %s of the client that sends it', async (limit, asset) => {
    const { pay, findRefusal, storage } = setUp({ limits: { assets: [asset, atom] } })
    await storage.create('payments/cosmos1me/0000000001', JSON.stringify(stored))
    expect(await findRefusal(stored)).toBeUndefined()
    await expect(pay()).rejects.toMatchObject({ code: 'LIMIT_REACHED', details: { limit } })
  })
})

test('pays although old payments cannot be deleted', async () => {
  const { pay, storage, signed } = setUp({ limits: { assets: [usdc] } })
  const old = { payer: 'cosmos1me', purpose: 'x', url: 'x', ...terms, amount: '1', signedAt: 0, endedAt: 0 }
  for (const position of [1, 2])
    await storage.create(
      `payments/cosmos1me/000000000${position}`,
      JSON.stringify({ ...old, id: `${position}`, position, state: 'paid' }),
    )
  const removed = jest.spyOn(storage, 'delete').mockRejectedValue(new Error('EPERM'))
  await pay()
  expect([removed.mock.calls.length, signed.length]).toEqual([1, 1])
})

describe('the callback', () => {
  test.each<[string, () => unknown]>([
    ['answers what is not true', () => 'no'],
    ['answers nothing', () => undefined],
    ['answers false later', () => Promise.resolve(false)],
    [
      'throws',
      () => {
        throw new Error('broken dialog')
      },
    ],
    ['fails later', () => Promise.reject(new Error('broken dialog'))],
  ])('that %s refuses the payment', async (_name, approve) => {
    const { pay, signed } = setUp({ limits: { assets: [usdc], approve: approve as () => boolean } })
    await expect(pay()).rejects.toMatchObject({ code: 'PAYMENT_NOT_APPROVED' })
    expect(signed).toEqual([])
  })
})

describe('a caller that stops waiting', () => {
  /** A callback that is answered by hand. */
  function question() {
    let answer: (isAllowed: boolean) => void = () => undefined
    let tell: () => void = () => undefined
    const asked = new Promise<void>((resolve) => (tell = resolve))
    const approve = () => {
      tell()
      return new Promise<boolean>((resolve) => (answer = resolve))
    }
    return { approve, asked, allow: () => answer(true) }
  }

  test.each(['ABORTED', 'CLOSED'] as const)(
    'is let go: %s, and what is allowed later is not signed',
    async (code) => {
      const { approve, asked, allow } = question()
      const { pay, signed, closing, storage } = setUp({ limits: { assets: [usdc], approve } })
      const calling = new AbortController()
      const paid = pay(calling.signal)
      await asked
      ;(code === 'CLOSED' ? closing : calling).abort()
      await expect(paid).rejects.toMatchObject({ code })
      expect(await storage.tryLock('sign/cosmos1me', () => Promise.resolve('free'))).toBe('free')
      allow()
      await new Promise(setImmediate)
      expect(signed).toEqual([])
    },
  )

  test('leaves a signature that comes later unsent', async () => {
    let sign: (payment: object) => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      sign = () => resolve()
    })
    let finish: (payment: never) => void = () => undefined
    const draftPayment = () =>
      Promise.resolve({
        sign: () => {
          sign({})
          return new Promise<never>((resolve) => (finish = resolve))
        },
      })
    const { pay, log } = setUp({ limits: { assets: [usdc] }, draftPayment })
    const calling = new AbortController()
    const paid = pay(calling.signal)
    await begun
    calling.abort()
    await expect(paid).rejects.toMatchObject({ code: 'ABORTED' })
    finish({ payer: 'cosmos1me', payload: {} } as never)
    await new Promise(setImmediate)
    expect(await log.list('cosmos1me')).toEqual([])
  })

  test('before it asks is asked nothing', async () => {
    const { pay, signed } = setUp({ limits: { assets: [usdc] } })
    await expect(pay(AbortSignal.abort())).rejects.toBeDefined()
    expect(signed).toEqual([])
  })
})
