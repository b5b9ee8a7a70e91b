import { type Client, type QueryConfig as Query } from 'pg'

/** The driver's types lack its timeout of one query. */
export type QueryConfig = Query & { query_timeout: number }

const ROUNDS = 10

const TIMEOUT_MS = 3_000

async function processOf(client: Client): Promise<number | undefined> {
  const query: QueryConfig = { text: 'SELECT pg_backend_pid() AS pid', query_timeout: TIMEOUT_MS }
  return (await client.query<{ pid: number }>(query)).rows[0]?.pid
}

/**
 * Whether statements of one client run in sessions that other clients use too, as through PgBouncer in transaction or statement
 * mode. Locks, LISTEN and settings belong to a session: such a pooler loses them without an error.
 */
export async function sharesSessions(client: Client, connect: () => Promise<Client>): Promise<boolean> {
  const pid = await processOf(client)
  // A pooler makes up the process that it names to a client, as it serves the client by more than one.
  if (pid === (client as Client & { processID: number | null }).processID) return false
  const other = await connect()
  try {
    for (let round = 0; round < ROUNDS; round++)
      if ((await processOf(other)) === pid || (await processOf(client)) !== pid) return true
    return false
  } finally {
    await other.end()
  }
}
