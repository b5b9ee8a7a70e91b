import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileTypeScript } from '@tollgate/e2e/testing/compile-typescript'
import { type Example } from './document'

/** The file name of a TypeScript example: the name in its first line, if others import it. */
export const moduleName = ({ text }: Example) =>
  /^\/\/ ([a-z-]+)\.ts$/m.exec(text.split('\n', 1)[0] ?? '')?.[1]

const nameOf = (example: Example) => moduleName(example) ?? `example-${example.line}`

/** Type-checks and compiles all TypeScript examples of the document in a folder with their libraries. */
export function compile(examples: readonly Example[], folder: string) {
  const source = join(folder, 'source')
  mkdirSync(source, { recursive: true })
  const files = examples.map((example) => {
    const file = join(source, `${nameOf(example)}.ts`)
    writeFileSync(file, example.text)
    return file
  })
  const errors = compileTypeScript(folder).map(({ file, line, message }) => {
    const first = examples[files.indexOf(file)]?.line ?? 0
    return `line ${first + line}: ${message}`
  })
  return { errors, programOf: (example: Example) => join(folder, 'programs', `${nameOf(example)}.js`) }
}
