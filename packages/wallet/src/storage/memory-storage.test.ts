import { memoryStorage } from './memory-storage.js'
import { guarantees } from './testing/guarantees.js'

test.each(guarantees)('$name', async ({ run, expected }) => {
  const storage = memoryStorage()
  expect(await run(() => storage)).toEqual(expected)
})
