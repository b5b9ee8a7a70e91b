import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileTypeScript } from '@tollgate/e2e/testing/compile-typescript'
import { type Manifest } from './kustomize'

/** TypeScript errors of the manifests as literals of their kinds' types, in particular unknown fields. */
export function typeErrors(manifests: readonly Manifest[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-manifests-'))
  try {
    mkdirSync(join(folder, 'source'))
    writeFileSync(join(folder, 'source/manifests.ts'), manifests.map(literal).join('\n'))
    return compileTypeScript(folder).map(({ message }) => message)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const literal = (manifest: Manifest) =>
  `{ const manifest: import('kubernetes-models/${groupOf(manifest)}/${manifest.kind}').I${manifest.kind} = ${JSON.stringify(manifest)}; void manifest }`

/** The folder of the kind's model: `apps/v1`, `autoscaling/v2`, `v1`. */
const groupOf = ({ apiVersion }: Manifest) => apiVersion
