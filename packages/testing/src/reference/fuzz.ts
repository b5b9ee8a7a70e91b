import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { operationsOf, type OpenApiDocument } from '@tollgate/service'
import fc from 'fast-check'
import { Agent } from 'undici'
import { type Body } from './body'
import { type Answered, type Contract } from './contract'
import { requestsOf, type Described, type FuzzRequest, type RequestOptions } from './requests'

const BATCH = 250
const AT_ONCE = 24
const MAX_FAILURES = 10

/** `FUZZ_SEED` and `FUZZ_REQUESTS` repeat a run, which prints both. The default seed is Jest's. */
export const fuzzOptions = () => ({
  seed: Number(process.env['FUZZ_SEED'] ?? jest.getSeed() >>> 1),
  requests: Number(process.env['FUZZ_REQUESTS'] ?? 5_000),
})

/** Resolves the placeholder `<<name:index>>`. */
export type Live = (name: string, index: number) => string

type Counts = Record<string, Record<string, number>>

export type Fuzz = {
  url: string
  document: OpenApiDocument
  contract: Contract
  requestOptions: RequestOptions
  live: Live
  seed: number
  requests: number
  /** Checks a documented response further. */
  alsoWrong: (answer: Answered) => string | undefined
  nameOf?: (answer: Answered) => string
}

/**
 * Sends requests generated from the document and checks every response against it. An operation without a 2xx
 * gets one more batch of requests. Stops after ten failures. Prints the responses of each operation;
 * `unserved` are the operations without a 2xx.
 */
export async function fuzz(options: Fuzz) {
  const { url, document, contract, requestOptions, live, seed, requests, alsoWrong } = options
  const { nameOf = ({ status }) => String(status) } = options
  const counts: Counts = {}
  const failures: object[] = []
  const dispatcher = new Agent({ connections: AT_ONCE, headersTimeout: 30_000, bodyTimeout: 30_000 })

  async function ask({ method, path, headers, body }: FuzzRequest): Promise<Answered> {
    const bytes = bytesOf(body, live)
    const answer = await dispatcher.request({
      origin: url,
      path: filled(path, live),
      method,
      headers: headers.flatMap(([name, value]) => [name, headerOf(value, live)]),
      ...(bytes ? { body: bytes } : {}),
    })
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
  }

  async function send(sent: FuzzRequest, number: number) {
    try {
      const answer = await ask(sent)
      const name = nameOf(answer)
      const byName = (counts[sent.operationId] ??= {})
      byName[name] = (byName[name] ?? 0) + 1
      const problems = contract.problemsOfAnswer(sent.method.toLowerCase(), sent.route, answer)
      const wrong = alsoWrong(answer)
      if (wrong !== undefined) problems.push(wrong)
      if (problems.length > 0)
        failures.push({
          number,
          problems,
          answer: { ...answer, text: short(answer.text) },
          sent: describeRequest(sent),
        })
    } catch (error) {
      failures.push({ number, problems: [String(error)], sent: describeRequest(sent) })
    }
  }

  process.stdout.write(`fuzz: FUZZ_SEED=${seed} FUZZ_REQUESTS=${requests}\n`)
  const operations = operationsOf(document)
  const sendBatch = async (asked: Described[], number: number) => {
    const arbitrary = requestsOf(document, requestOptions, asked)
    const waiting = fc.sample(arbitrary, { seed: seed + number, numRuns: BATCH }).entries()
    const lane = async () => {
      for (const [index, sent] of waiting) await send(sent, number + index)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  }
  const unserved = () =>
    operations.filter(
      ({ operation }) =>
        !Object.keys(counts[operation.operationId] ?? {}).some((name) => name.startsWith('2')),
    )

  let number = 0
  for (; number < requests && failures.length < MAX_FAILURES; number += BATCH)
    await sendBatch(operations, number)
  for (const operation of unserved()) {
    if (failures.length >= MAX_FAILURES) break
    await sendBatch([operation], number)
    number += BATCH
  }
  await dispatcher.close()

  process.stdout.write(`${tableOf(counts)}\n`)
  return { counts, failures, unserved: unserved().map(({ operation }) => operation.operationId) }
}

const filled = (text: string, live: Live, written: (value: string) => string = (value) => value) =>
  text.replace(/<<(\w+):(\d+)>>/g, (_, name: string, index: string) => written(live(name, Number(index))))

const inJson = (value: string) => JSON.stringify(value).slice(1, -1)

const BASE64_MARK = '~base64~'

/** A header that the sender encodes as base64 after it has filled in the live values. */
export const inBase64 = (value: unknown) => BASE64_MARK + JSON.stringify(value)

const headerOf = (value: string, live: Live) =>
  value.startsWith(BASE64_MARK)
    ? Buffer.from(filled(value.slice(BASE64_MARK.length), live, inJson)).toString('base64')
    : filled(value, live)

function bytesOf(body: Body | undefined, live: Live): Buffer | undefined {
  if (!body) return undefined
  const bytes = Buffer.from(filled(body.text, live, inJson), body.encoding)
  if (body.compression === 'gzip') return gzipSync(bytes)
  // The default compression level takes seconds for large bodies.
  if (body.compression === 'br')
    return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
  return bytes
}

const short = (text: string) => (text.length > 2_000 ? `${text.slice(0, 500)}… (${text.length})` : text)

const describeRequest = (sent: FuzzRequest) =>
  sent.body ? { ...sent, body: { ...sent.body, text: short(sent.body.text) } } : sent

const sumOf = (byName: Record<string, number>) => Object.values(byName).reduce((all, count) => all + count, 0)

function tableOf(counts: Counts): string {
  const line = (name: string, count: number, rest = '') =>
    `${name.padEnd(28)}${String(count).padStart(6)}${rest}`
  const lines = Object.entries(counts).map(([operationId, byName]) => {
    const answers = Object.entries(byName).map(([name, count]) => `${name}: ${count}`)
    return line(operationId, sumOf(byName), `  ${answers.sort().join(', ')}`)
  })
  const all = Object.values(counts)
    .map(sumOf)
    .reduce((sum, count) => sum + count, 0)
  return [...lines, line('all', all)].join('\n')
}
