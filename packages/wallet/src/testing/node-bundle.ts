import { join } from 'node:path'
import { build } from 'esbuild'

/** Makes a TypeScript module one file in `folder` that Node runs, and returns its path. */
export async function bundleForNode(entry: string, folder: string): Promise<string> {
  const outfile = join(folder, 'bundle.cjs')
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'silent',
  })
  return outfile
}
