import { withoutKeys } from './key-texts'

const HEX = 'aB'.repeat(32)

test.each([
  [`0x${HEX}`, '[secret]'],
  [HEX, '[secret]'],
  [`/home/me/${HEX}.json`, '/home/me/[secret].json'],
  ['test test test test test test test test test test test junk', '[secret]'],
  ['/home/me/my wallet.json', '/home/me/my wallet.json'],
])('%s is shown as %s', (text, shown) => expect(withoutKeys(text)).toBe(shown))
