import { randomUUID } from 'node:crypto'
import { DatabaseError, escapeIdentifier, type Client } from 'pg'
import { addressOf, withDatabase } from './address'
import { connectWhenReady, type WaitOptions } from './wait'

const MAINTENANCE = 'postgres'
/** The codes for a database that another session has created in the meantime. */
const ALREADY_EXISTS = ['42P04', '23505']

/** Idempotent: returns false if the database exists. */
export async function createDatabase(url: string, waiting: WaitOptions = {}): Promise<boolean> {
  const { database } = addressOf(url)
  return withMaintenance(url, waiting, async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [database])
    if (rowCount) return false
    try {
      await client.query(`CREATE DATABASE ${escapeIdentifier(database)}`)
      return true
    } catch (error) {
      if (error instanceof DatabaseError && ALREADY_EXISTS.includes(error.code ?? '')) return false
      throw error
    }
  })
}

export async function withScratchDatabase<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const scratch = `tollgate_scratch_${randomUUID().replaceAll('-', '')}`
  return withMaintenance(url, {}, async (maintenance) => {
    await maintenance.query(`CREATE DATABASE ${scratch} template template0`)
    try {
      return await withClient(withDatabase(url, scratch), {}, work)
    } finally {
      await maintenance.query(`DROP DATABASE ${scratch} WITH (force)`)
    }
  })
}

async function withMaintenance<T>(url: string, waiting: WaitOptions, work: (client: Client) => Promise<T>) {
  return withClient(withDatabase(url, MAINTENANCE), waiting, work)
}

async function withClient<T>(url: string, waiting: WaitOptions, work: (client: Client) => Promise<T>) {
  const client = await connectWhenReady(url, {}, waiting)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
