import { Pool } from 'undici'
import { type Contender } from './contender'

type Answer = { body: string; ms: number }
export type LoadResult = { seconds: number; answers: Answer[]; refused: string[] }

/** Longer than any settlement. */
const TIMEOUT_MS = 180_000

/** Sends each body once, `connections` at a time. `isRight` tells an answer from a refusal. */
export async function sendAll(
  { url, headers }: Contender,
  {
    path,
    bodies,
    connections,
    isRight,
  }: {
    path: '/verify' | '/settle'
    bodies: readonly string[]
    connections: number
    isRight: (answer: string) => boolean
  },
): Promise<LoadResult> {
  const { origin, pathname } = new URL(url)
  const options = { connections, pipelining: 1, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS }
  const pool = new Pool(origin, options)
  const answers: Answer[] = []
  const refused: string[] = []
  let next = 0

  async function sendInTurn(): Promise<void> {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const sentAt = performance.now()
      const answer = await pool.request({
        method: 'POST',
        path: pathname.replace(/\/$/, '') + path,
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
      const text = await answer.body.text()
      answers.push({ body: text, ms: performance.now() - sentAt })
      if (!isRight(text)) refused.push(`${answer.statusCode} ${text.slice(0, 200)}`)
    }
  }

  const startedAt = performance.now()
  await Promise.all(Array.from({ length: connections }, sendInTurn))
  const seconds = (performance.now() - startedAt) / 1000
  await pool.close()
  return { seconds, answers, refused }
}
