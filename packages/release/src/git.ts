import { execFileSync } from 'node:child_process'

/** Runs git in `root`. @returns what it printed, without the last line break; @throws with git's own words */
export function git(root: string, ...args: string[]): string {
  return execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).replace(/\n$/, '')
}
