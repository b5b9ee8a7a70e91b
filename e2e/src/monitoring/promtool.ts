import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'

export const hasPromtool = (() => {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    process.stderr.write(
      'promtool is missing (package prometheus of Debian): alerts and queries are not tested\n',
    )
    return false
  }
})()

/** Writes the files into `folder` and runs promtool on the last. @throws Error with its output if it fails */
export function promtool(
  folder: string,
  args: readonly string[],
  files: Readonly<Record<string, unknown>>,
): string {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), stringify(content))
  const last = Object.keys(files).at(-1) ?? ''
  try {
    return execFileSync('promtool', [...args, last], { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`promtool ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
