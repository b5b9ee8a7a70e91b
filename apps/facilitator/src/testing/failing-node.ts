import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { closeLater } from '@tollgate/testing'

type Message = { id: number; method: string }
type Failure = { code: number; message: string }

/** The node at `url`, but for `method`, which fails as `failure` says of each question (JSON); answers its URL. */
export async function startFailingNode(
  url: string,
  method: string,
  failure: (question: string) => Failure | undefined,
): Promise<string> {
  const answerTo = async (message: Message): Promise<unknown> => {
    const error = message.method === method ? failure(JSON.stringify(message)) : undefined
    if (error) return { jsonrpc: '2.0', id: message.id, error }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
    return answer.json()
  }
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as Message | Message[]
      const answers = Array.isArray(asked) ? Promise.all(asked.map(answerTo)) : answerTo(asked)
      response.end(JSON.stringify(await answers))
    })().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeLater(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve(undefined))
        server.closeAllConnections()
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
