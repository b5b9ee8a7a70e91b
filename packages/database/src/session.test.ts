import { migrate } from './migrations/migrate'
import { openFacilitatorDatabase, type FacilitatorDatabase } from './open'
import { inTransaction, withTransaction } from './session'
import { emptyDatabase } from './testing/database'

let database: FacilitatorDatabase
beforeAll(async () => {
  const url = await emptyDatabase()
  await migrate({ url, service: 'facilitator' })
  database = openFacilitatorDatabase({ url })
})
beforeEach(() => database.pool.query('DELETE FROM users'))
afterAll(() => database.close())

const ADD_USER = `INSERT INTO users (email, password_hash) VALUES ($1, '')`
const users = () => database.prisma.user.count()

test('inTransaction rolls back if its work throws', async () => {
  const client = await database.pool.connect()
  const failing = inTransaction(client, async () => {
    await client.query(ADD_USER, ['a@example.com'])
    throw new Error('on purpose')
  })
  await expect(failing).rejects.toThrow('on purpose')
  client.release()
  expect(await users()).toBe(0)
})

test('inTransaction rejects a commit that Postgres turned into a rollback', async () => {
  const client = await database.pool.connect()
  const failing = inTransaction(client, async () => {
    await client.query(ADD_USER, ['a@example.com'])
    await client.query(ADD_USER, ['a@example.com']).catch(() => undefined)
  })
  await expect(failing).rejects.toThrow('rolled back')
  client.release()
  expect(await users()).toBe(0)
})

test('withTransaction commits, and closes the connection of a failed transaction', async () => {
  await withTransaction(database.pool, (client) => client.query(ADD_USER, ['a@example.com']))
  const connections = database.pool.totalCount
  const failing = withTransaction(database.pool, async (client) => {
    await client.query(ADD_USER, ['b@example.com'])
    throw new Error('on purpose')
  })
  await expect(failing).rejects.toThrow('on purpose')
  expect(database.pool.totalCount).toBe(connections - 1)
  expect(await users()).toBe(1)
})
