import { join } from 'node:path'
import ts from 'typescript'
import { type Manifest } from './kustomize'

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.Node20,
  moduleResolution: ts.ModuleResolutionKind.Node16,
  target: ts.ScriptTarget.ES2023,
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
}

/** TypeScript errors of the manifests as literals of their kinds' types, in particular unknown fields. */
export function typeErrors(manifests: readonly Manifest[]): string[] {
  const file = join(__dirname, 'manifests-as-literals.ts')
  const text = manifests.map(literal).join('\n')
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.getSourceFile = (name, language, ...more) =>
    name === file ? ts.createSourceFile(name, text, language) : getSourceFile(name, language, ...more)
  const program = ts.createProgram([file], options, host)
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

const literal = (manifest: Manifest) =>
  `{ const manifest: import('kubernetes-models/${groupOf(manifest)}/${manifest.kind}').I${manifest.kind} = ${JSON.stringify(manifest)}; void manifest }`

/** The folder of the kind's model: `apps/v1`, `autoscaling/v2`, `v1`. */
const groupOf = ({ apiVersion }: Manifest) => apiVersion
