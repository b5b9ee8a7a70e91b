import { join } from 'node:path'
import { build, type BuildOptions } from 'esbuild'

/** Makes a TypeScript module one file in `folder` that Node runs, and returns its path. */
export const bundleForNode = (entry: string, folder: string) =>
  bundle({ entryPoints: [entry], platform: 'node', format: 'cjs', outfile: join(folder, 'bundle.cjs') })

/** Returns the path of the file. */
export async function bundle(options: BuildOptions & { outfile: string }): Promise<string> {
  await build({ target: 'es2022', bundle: true, logLevel: 'silent', ...options })
  return options.outfile
}
