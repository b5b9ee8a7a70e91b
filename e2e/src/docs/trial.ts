import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { examplesOf, type Example, type ShownAnswer } from './document'
import { compile, moduleName } from './programs'
import { startReader } from './reader'
import { startRecorder, type Recorded } from './recorder'
import { operationsOf, refusalsOf, type Reference } from './reference'
import { differences } from './shape'

export type Environment = {
  serviceUrl: string
  /** The reader's variables before the first example; `url` is the service's address. */
  variables: (url: string) => Record<string, string>
  variablesOf?: (example: Example) => Record<string, string>
}

type Language = Example['language']

/**
 * Tests the document at `path` against its service: the TypeScript compiles, each example runs and gets the
 * shown response, and it covers `/openapi.json`: every operation in each of the `complete` languages, and
 * every refusal. `closeLater` closes what `prepare` opens, in reverse order.
 */
export function describeDocument(
  path: string,
  complete: readonly Language[],
  prepare: (closeLater: (close: () => unknown) => void) => Promise<Environment>,
) {
  const page = readFileSync(join(__dirname, '../../..', path), 'utf8')
  const examples = examplesOf(page)
  const closing: (() => unknown)[] = []
  let trial: Trial
  let reference: Reference

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-docs-'))
    closing.push(() => rmSync(folder, { recursive: true, force: true }))
    const compiled = compile(
      examples.filter(({ language }) => language === 'ts'),
      folder,
    )
    const environment = await prepare((close) => void closing.push(close))
    const recorder = await startRecorder(environment.serviceUrl)
    closing.push(() => recorder.stop())
    trial = createTrial({ folder, compiled, recorder, environment })
    reference = (await (await fetch(`${environment.serviceUrl}/openapi.json`)).json()) as Reference
  }, 120_000)

  afterAll(async () => {
    for (const close of closing.reverse()) await close()
  }, 30_000)

  describe(path, () => {
    test('has TypeScript that compiles', () => {
      expect(trial.errors).toEqual([])
    })

    const named = examples.map((example): [string, Example] => [
      `${example.heading} (${example.language}, line ${example.line})`,
      example,
    ])
    test.each(named)('%s runs, and is answered as shown', async (_, example) => {
      const answers = await trial.run(example)
      if (moduleName(example) !== undefined) return
      const announced = [402, ...example.answers.map(({ status }) => status)]
      const failed = answers.filter(({ status }) => status >= 300 && !announced.includes(status))
      expect(failed.map(({ method, path: asked, body }) => [method, asked, body])).toEqual([])
      const mistakes = example.answers.flatMap((shown) =>
        mistakesIn(shown, answers.at(-1)).map((mistake) => `line ${shown.line}: ${mistake}`),
      )
      expect(mistakes).toEqual([])
    })

    describe('leaves out nothing of /openapi.json:', () => {
      test.each(complete)('every operation is asked in %s', (language) => {
        const requests = [...trial.asked[language]]
        const missing = operationsOf(reference).filter(({ matches }) => !requests.some(matches))
        expect(missing.map(({ name }) => name)).toEqual([])
      })

      test('every refusal stands in the table of errors, and no other', () => {
        const rows = [...page.matchAll(/^\| (\d{3}) +\| `([A-Z_]+)`/gm)].map(
          ([, status, code]) => `${status} ${code}`,
        )
        // For paths that are documented with other methods only.
        const described = refusalsOf(reference).add('405 METHOD_NOT_ALLOWED')
        expect(rows.sort()).toEqual([...described].sort())
      })
    })
  })
}

type Trial = ReturnType<typeof createTrial>

function createTrial({
  folder,
  compiled,
  recorder,
  environment,
}: {
  folder: string
  compiled: ReturnType<typeof compile>
  recorder: Awaited<ReturnType<typeof startRecorder>>
  environment: Environment
}) {
  const reader = startReader(folder, environment.variables(recorder.url))
  /** The requests of the examples by language, such as `GET /pricing/1`. */
  const asked: Record<Language, Set<string>> = { bash: new Set(), ts: new Set() }

  return {
    errors: compiled.errors,
    asked,
    async run(example: Example): Promise<Recorded[]> {
      recorder.take()
      if (example.language === 'bash') await reader.shell(example.text)
      else await reader.program(compiled.programOf(example), environment.variablesOf?.(example))
      const answers = recorder.take()
      for (const { method, path } of answers) asked[example.language].add(`${method} ${path}`)
      return answers
    },
  }
}

function mistakesIn(shown: ShownAnswer, came: Recorded | undefined): string[] {
  if (!came) return ['nothing was asked']
  if (came.status !== shown.status) return [`came with status ${came.status}: ${came.body}`]
  const receipt = String(came.headers['x-payment-response'])
  const text = shown.inHeader ? Buffer.from(receipt, 'base64').toString() : came.body
  return differences(shown.value, JSON.parse(text))
}
