import { randomUUID } from 'node:crypto'
import { DatabaseError, escapeIdentifier, type Client } from 'pg'
import { addressOf, withDatabase } from './address'
import { connectWhenReady, type Waiting } from './wait'

/** The database that every server has, to stand on while another is made. */
const MAINTENANCE = 'postgres'
/** Two who create at once: the one who comes second sees the name taken, or the row of it. */
const TAKEN = ['42P04', '23505']

/** Creates the database that the URL names, if it is missing. @returns whether it did. */
export async function createDatabase(url: string, waiting: Waiting = {}): Promise<boolean> {
  const { database } = addressOf(url)
  return withMaintenance(url, waiting, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database])
    if (rowCount) return false
    try {
      await client.query(`create database ${escapeIdentifier(database)}`)
      return true
    } catch (error) {
      if (error instanceof DatabaseError && TAKEN.includes(error.code ?? '')) return false
      throw error
    }
  })
}

/** Hands over a session in an empty database on the server of the URL, and drops it afterwards, come what may. */
export async function withScratchDatabase<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const scratch = `tollgate_scratch_${randomUUID().replaceAll('-', '')}`
  return withMaintenance(url, {}, async (maintenance) => {
    await maintenance.query(`create database ${scratch} template template0`)
    try {
      const client = await connectWhenReady(withDatabase(url, scratch), {}, {})
      return await work(client).finally(() => client.end())
    } finally {
      await maintenance.query(`drop database ${scratch} with (force)`)
    }
  })
}

async function withMaintenance<T>(url: string, waiting: Waiting, work: (client: Client) => Promise<T>) {
  const client = await connectWhenReady(withDatabase(url, MAINTENANCE), {}, waiting)
  return work(client).finally(() => client.end())
}
