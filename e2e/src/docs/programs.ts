import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { type Example } from './document'

const root = join(__dirname, '../../..')

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts'],
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
}

/** The file name of a TypeScript example: the name in its first line, if others import it. */
export const moduleName = ({ text }: Example) =>
  /^\/\/ ([a-z-]+)\.ts$/m.exec(text.split('\n', 1)[0] ?? '')?.[1]

const nameOf = (example: Example) => moduleName(example) ?? `example-${example.line}`

/** Type-checks and compiles all TypeScript examples of the document in a folder with their libraries. */
export function compile(examples: readonly Example[], folder: string) {
  const source = join(folder, 'source')
  const output = join(folder, 'programs')
  mkdirSync(source, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(root, 'e2e/node_modules'), join(folder, 'node_modules'))
  const files = examples.map((example) => {
    const file = join(source, `${nameOf(example)}.ts`)
    writeFileSync(file, example.text)
    return file
  })
  const program = ts.createProgram(files, { ...options, rootDir: source, outDir: output })
  const { diagnostics } = program.emit()
  const errors = [...ts.getPreEmitDiagnostics(program), ...diagnostics].map(
    ({ file, start = 0, messageText }) => {
      const text = ts.flattenDiagnosticMessageText(messageText, ' ')
      const first = examples[files.indexOf(file?.fileName ?? '')]?.line ?? 0
      return `line ${first + 1 + (file?.getLineAndCharacterOfPosition(start).line ?? 0)}: ${text}`
    },
  )
  return { errors, programOf: (example: Example) => join(output, `${nameOf(example)}.js`) }
}
