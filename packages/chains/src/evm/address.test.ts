import { getAddress } from 'viem'
import { parseAddress, sameAddress } from './address'

const checksummed = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

describe('parseAddress', () => {
  test.each([
    checksummed,
    checksummed.toLowerCase(),
    checksummed.toUpperCase(),
    checksummed.replace('b', 'B'),
  ])('spells %s by EIP-55: one wallet, whatever its letter case', (text) =>
    expect(parseAddress(text)).toBe(checksummed),
  )

  test('agrees with another implementation', () => {
    for (let i = 1n; i < 200n; i++) {
      const text = `0x${(i ** 40n).toString(16).padStart(40, '0').slice(-40)}` as const
      expect(parseAddress(text)).toBe(getAddress(text))
    }
  })

  test('spells an address as before when it is met again, after more of them than are remembered', () => {
    const texts = Array.from({ length: 10_001 }, (_, i) => `0x${i.toString(16).padStart(40, 'f')}`)
    const spelled = texts.map(parseAddress)
    expect(texts.toReversed().map(parseAddress)).toEqual(spelled.toReversed())
    expect(parseAddress(checksummed.toLowerCase())).toBe(checksummed)
  })

  test.each([
    '',
    '0x',
    checksummed.slice(2),
    checksummed.slice(0, -1),
    `${checksummed}0`,
    ` ${checksummed}`,
    `${checksummed}\n`,
    checksummed.replace('c', 'g'),
    'cosmos1zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3cnwz4d',
    'XE65GB6LDNXYOFTX0NSV3FUWKOWIXAMJK36',
  ])('takes %j for no address', (text) => expect(parseAddress(text)).toBeUndefined())
})

describe('sameAddress', () => {
  test('passes over letter case and nothing else', () => {
    expect(sameAddress(checksummed, checksummed.toLowerCase())).toBe(true)
    expect(sameAddress(checksummed, checksummed.replace('3', '4'))).toBe(false)
    expect(sameAddress('', '')).toBe(false)
  })
})
