import { memoryStorage } from '../storage/memory-storage'
import { createPaymentLog, isExpired, signedOn, type NewPayment } from './payment-log'

const DAY = 86_400_000
const NOW = Date.parse('2026-11-25T12:00:00Z')
const asset = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }
const payment = (id: string, more: Partial<NewPayment> = {}): NewPayment => ({
  id,
  payer: '0xAB',
  purpose: 'credits',
  url: 'https://gateway.example/credits',
  ...asset,
  payTo: '0x01',
  amount: '100',
  signedAt: NOW,
  validUntil: NOW / 1000 + 60,
  header: { 'x-payment': 'signed' },
  ...more,
})

function openLog(now = NOW) {
  const storage = memoryStorage()
  return { storage, log: createPaymentLog(storage, () => now) }
}

test('adds to the log only as it was read', async () => {
  const { storage, log } = openLog()
  const other = createPaymentLog(storage, () => NOW)
  const [mine, theirs] = [await log.list('0xAB'), await other.list('0xAB')]
  expect(await log.append(mine, payment('a'))).toMatchObject({ position: 1, state: 'open' })
  expect(await other.append(theirs, payment('b'))).toBe(false)
  expect((await other.list('0xab')).map(({ id }) => id)).toEqual(['a'])
})

test('keeps a signed payment until it has ended, and nothing that could be sent after', async () => {
  const { storage, log } = openLog()
  const stored = await log.append([], payment('a'))
  if (!stored) throw new Error('not stored')
  expect((await createPaymentLog(storage, () => NOW).list('0xAB'))[0]?.header).toEqual({
    'x-payment': 'signed',
  })
  await log.end(stored, 'paid', '0x1')
  const [ended] = await createPaymentLog(storage, () => NOW).list('0xAB')
  expect(ended).toMatchObject({ state: 'paid', transaction: '0x1', endedAt: NOW })
  expect(ended).not.toHaveProperty('header')
})

test('pays nothing while a stored payment cannot be read', async () => {
  const { storage, log } = openLog()
  await storage.create('payments/0xab/0000000001', '{"position": 1}')
  await expect(log.list('0xAB')).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
})

test('counts what was signed for the asset on this day, whatever became of it', async () => {
  const { log } = openLog()
  const add = async (id: string, more: Partial<NewPayment>) => {
    const stored = await log.append(await log.list('0xAB'), payment(id, more))
    if (!stored) throw new Error('not stored')
    return stored
  }
  await add('open', { amount: '1' })
  await log.end(await add('paid', { amount: '20' }), 'paid')
  const inOtherLetters = asset.asset.toUpperCase().replace('X', 'x')
  await log.end(await add('unknown', { amount: '300', asset: inOtherLetters }), 'unknown')
  await log.end(await add('refused', { amount: '4000' }), 'refused')
  await log.end(await add('void', { amount: '50000' }), 'void')
  await add('another asset', { amount: '600000', asset: '0x02' })
  await add('yesterday', { amount: '7000000', signedAt: NOW - (NOW % DAY) - 1 })
  await add('with a fee', { asset: '0x02', fee: { asset: asset.asset, amount: '80000000' } })
  expect(signedOn(await log.list('0xAB'), asset, NOW)).toBe(80_054_321n)
})

test('deletes payments three days after their end, but never the last, nor an open one that blocks others', async () => {
  const { storage, log } = openLog()
  const payments: Record<string, Partial<NewPayment>> = {
    ended: {},
    'ended late': {},
    abandoned: {},
    credits: { isSingle: true },
    endless: { validUntil: undefined },
    last: {},
  }
  for (const [id, more] of Object.entries(payments)) {
    const stored = await log.append(await log.list('0xAB'), payment(id, more))
    if (stored && ['ended', 'last'].includes(id)) await log.end(stored, 'paid')
    if (stored && id === 'ended late') await createPaymentLog(storage, () => NOW + DAY).end(stored, 'paid')
  }
  const idsAfter = async (time: number) => {
    const later = createPaymentLog(storage, () => NOW + time)
    await later.prune(await later.list('0xAB'))
    return (await later.list('0xAB')).map(({ id }) => id)
  }
  expect(await idsAfter(3 * DAY - 1)).toEqual(Object.keys(payments))
  expect(await idsAfter(3 * DAY)).toEqual(['ended late', 'abandoned', 'credits', 'endless', 'last'])
  expect(await idsAfter(3 * DAY + 60_000)).toEqual(['ended late', 'credits', 'endless', 'last'])
  expect(await idsAfter(4 * DAY)).toEqual(['credits', 'endless', 'last'])
  expect(await log.append(await log.list('0xAB'), payment('next'))).toMatchObject({ position: 7 })
})

test('sees a payment at a position whose earlier one was removed by hand', async () => {
  const { storage, log } = openLog()
  const first = await log.append([], payment('first'))
  if (!first) throw new Error('not stored')
  await log.end(first, 'paid')
  await storage.delete('payments/0xab/0000000001')
  await log.append(await log.list('0xAB'), payment('second'))
  expect((await log.list('0xAB')).map(({ id, state }) => [id, state])).toEqual([['second', 'open']])
})

test('takes a payment as expired only if the server’s clock says so, too', () => {
  const [early, late] = [NOW, NOW + 121_000]
  expect(isExpired(payment('a'), late, early)).toBe(false)
  expect(isExpired(payment('a'), early, late)).toBe(false)
  expect(isExpired(payment('a'), late, late)).toBe(true)
})

test.each([
  [59, false],
  [120, false],
  [121, true],
])('takes a payment valid for 60 s as expired after %i s: %s', (seconds, expired) => {
  expect(isExpired(payment('a'), NOW + seconds * 1000)).toBe(expired)
})
