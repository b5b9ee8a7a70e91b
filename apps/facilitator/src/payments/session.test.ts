import { openFacilitatorDatabase } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { inTransaction } from './session'

afterAll(closeAll)

async function openClient() {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator') })
  closeLater(() => database.close())
  const client = await database.pool.connect()
  closeLater(() => client.release())
  const addUser = (email: string) =>
    client.query(`insert into users (email, password_hash) values ($1, '')`, [email])
  return { client, addUser, users: () => database.prisma.user.count() }
}

test('what is done in a transaction that throws is not done', async () => {
  const { client, addUser, users } = await openClient()
  const failing = inTransaction(client, async () => {
    await addUser('a@example.com')
    throw new Error('on purpose')
  })
  await expect(failing).rejects.toThrow('on purpose')
  expect(await users()).toBe(0)
})

test('a transaction whose failed statement was passed over is not taken for committed', async () => {
  const { client, addUser, users } = await openClient()
  const failing = inTransaction(client, async () => {
    await addUser('a@example.com')
    await addUser('a@example.com').catch(() => undefined)
  })
  await expect(failing).rejects.toThrow('rolled back')
  expect(await users()).toBe(0)
})
