import { getAddress } from 'ethers'
import { STABLECOINS } from './stablecoins'

test.each(STABLECOINS.filter(({ network }) => network.startsWith('eip155:')))(
  '$symbol on $network has the checksum of its address',
  ({ asset }) => expect(getAddress(asset)).toBe(asset),
)

test('no asset is listed twice', () => {
  const keys = STABLECOINS.map(({ network, asset }) => `${network}/${asset}`)
  expect(new Set(keys).size).toBe(keys.length)
})
