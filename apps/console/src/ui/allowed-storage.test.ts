import { allowedStorage } from './allowed-storage'

const refuse = () => {
  throw new Error('The operation is insecure')
}
const blocked = { getItem: refuse, setItem: refuse, removeItem: refuse }
const full = { getItem: () => null, setItem: refuse, removeItem: () => undefined }

test.each([
  ['is denied', refuse],
  ['refuses each use', () => blocked],
  ['takes no value', () => full],
])('a value is kept for the page if the storage %s', (_name, storage) => {
  const place = allowedStorage(storage)
  place.setItem('key', 'value')
  expect(place.getItem('key')).toBe('value')
  place.removeItem('key')
  expect(place.getItem('key')).toBeNull()
})
