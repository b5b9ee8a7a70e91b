import { memoryStorage } from '@tollgate/wallet'
import { createPaidAsset } from './paid-asset'
import { STABLECOINS, type KnownAsset } from './stablecoins'

const [usdc, base, euro] = ['eip155:84532', 'eip155:8453', 'eip155:1'].map(
  (network) => STABLECOINS.find((one) => one.network === network) as KnownAsset,
) as [KnownAsset, KnownAsset, KnownAsset]

function open(storage = memoryStorage()) {
  const of = (changes: Partial<Parameters<typeof createPaidAsset>[1]> = {}) =>
    createPaidAsset(storage, { url: 'https://a.example', address: '0xAb', named: [], ...changes })
  return { of, storage }
}

describe('the asset that a gateway is paid in', () => {
  test('stays the same for a wallet, whatever the letter case of addresses', async () => {
    const { of } = open()
    await of().assertUnchanged(base)
    await of().remember(usdc)
    await of({ address: '0xaB' }).assertUnchanged({ ...usdc, asset: usdc.asset.toLowerCase() })
    await of().remember(usdc)
    await expect(of().assertUnchanged(base)).rejects.toMatchObject({
      ...{ code: 'ASSET_CHANGED', exitCode: 2 },
      message: `This wallet has paid this gateway in ${usdc.asset} on eip155:84532, and is now asked for USDC, ${base.asset} on eip155:8453`,
      advice: expect.stringContaining(`--asset eip155:8453/${base.asset}:6 `) as string,
    })
    await expect(of().remember(base)).rejects.toMatchObject({ code: 'ASSET_CHANGED' })
  })

  test('is another one for another gateway or wallet', async () => {
    const { of } = open()
    await of().remember(usdc)
    await of({ url: 'https://b.example' }).remember(base)
    await of({ url: 'https://a_example' }).remember(base)
    await of({ address: '0xcd' }).remember(base)
  })

  test('may be any that the user names, which takes the place of the one before', async () => {
    const { of } = open()
    await of().remember(usdc)
    await of({ named: [base] }).assertUnchanged(base)
    await of({ named: [base] }).remember(base)
    await of().assertUnchanged(base)
    await expect(of().remember(usdc)).rejects.toMatchObject({ code: 'ASSET_CHANGED' })
    await expect(of({ named: [base] }).remember(euro)).rejects.toMatchObject({ code: 'ASSET_CHANGED' })
  })

  test('is one of two at once', async () => {
    const { of } = open()
    const outcomes = await Promise.allSettled([of().remember(usdc), of().remember(base)])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })
})
