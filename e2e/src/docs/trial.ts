import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { examplesOf, type Example, type ShownAnswer } from './document'
import { compile, moduleName } from './programs'
import { startReader } from './reader'
import { startRecorder, type Recorded } from './recorder'
import { operationsOf, refusalsOf, type Reference } from './reference'
import { differences } from './shape'

/** What the examples of a document are tried on. */
export type Ground = {
  /** Where the service really is. */
  serviceUrl: string
  /** What the reader has before the first example, the service being at `url`. */
  variables: (url: string) => Record<string, string>
  /** What a program is given beside that. */
  variablesOf?: (example: Example) => Record<string, string>
}

type Language = Example['language']

/**
 * Describes that the document at `path` is true of the service it is about: its TypeScript compiles, each of its examples
 * runs and is answered as shown, and it lacks nothing of `/openapi.json`: no operation in any of the `complete` languages,
 * and no refusal. `closeLater` takes how what `prepare` opens is closed, last first.
 */
export function describeDocument(
  path: string,
  complete: readonly Language[],
  prepare: (closeLater: (close: () => unknown) => void) => Promise<Ground>,
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
    const ground = await prepare((close) => void closing.push(close))
    const recorder = await startRecorder(ground.serviceUrl)
    closing.push(() => recorder.stop())
    trial = createTrial({ folder, compiled, recorder, ground })
    reference = (await (await fetch(`${ground.serviceUrl}/openapi.json`)).json()) as Reference
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
        // Of paths that are described with other methods only.
        const described = refusalsOf(reference).add('405 METHOD_NOT_ALLOWED')
        expect(rows.sort()).toEqual([...described].sort())
      })
    })
  })
}

type Trial = ReturnType<typeof createTrial>

/** Runs the examples in sequence, through a recorder. */
function createTrial({
  folder,
  compiled,
  recorder,
  ground,
}: {
  folder: string
  compiled: ReturnType<typeof compile>
  recorder: Awaited<ReturnType<typeof startRecorder>>
  ground: Ground
}) {
  const reader = startReader(folder, ground.variables(recorder.url))
  /** What the examples of each language have asked the service, as `GET /pricing/1`. */
  const asked: Record<Language, Set<string>> = { bash: new Set(), ts: new Set() }

  return {
    errors: compiled.errors,
    asked,
    /** Runs an example as a reader would, and tells what the service answered it. */
    async run(example: Example): Promise<Recorded[]> {
      recorder.take()
      if (example.language === 'bash') await reader.shell(example.text)
      else await reader.program(compiled.programOf(example), ground.variablesOf?.(example))
      const answers = recorder.take()
      for (const { method, path } of answers) asked[example.language].add(`${method} ${path}`)
      return answers
    },
  }
}

/** In what the last answer that came is not the one that the page shows. */
function mistakesIn(shown: ShownAnswer, came: Recorded | undefined): string[] {
  if (!came) return ['nothing was asked']
  if (came.status !== shown.status) return [`came with status ${came.status}: ${came.body}`]
  const receipt = String(came.headers['x-payment-response'])
  const text = shown.inHeader ? Buffer.from(receipt, 'base64').toString() : came.body
  return differences(shown.value, JSON.parse(text))
}
