import { closeAll } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { openWorkerWorld } from './testing/worker-world'

afterAll(closeAll)

test('an owner has at most ten endpoints, however many are made at once', async () => {
  const { endpoints } = await openWorkerWorld()
  const wanted = { url: 'https://shop.example/hooks', events: [], description: '', threshold: null }
  for (let round = 0; round < 10; round++) {
    const owner = randomUUID()
    const made = await Promise.all(Array.from({ length: 40 }, () => endpoints.create(owner, wanted)))
    expect(made.filter((endpoint) => endpoint !== undefined)).toHaveLength(10)
    expect(await endpoints.list(owner)).toHaveLength(10)
  }
})
