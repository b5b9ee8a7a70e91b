import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Row } from '../row'
import { computeBlocks } from './tables'

/** Replaces the computed blocks of scaling.md in `folder`, if it is there. */
export function writeScaling(folder: string, rows: readonly Row[]): boolean {
  const file = join(folder, 'scaling.md')
  if (!existsSync(file)) return false
  writeFileSync(file, replaceBlocks(readFileSync(file, 'utf8'), computeBlocks(rows)))
  return true
}

/** A block stands between `<!-- computed: NAME -->` and `<!-- end -->`. */
export function replaceBlocks(text: string, blocks: Readonly<Record<string, string>>): string {
  const names = [...text.matchAll(/<!-- computed: (\w+) -->/g)].map(([, name]) => name ?? '')
  const unknown = names.filter((name) => blocks[name] === undefined)
  const absent = Object.keys(blocks).filter((name) => !names.includes(name))
  if (unknown.length + absent.length > 0)
    throw new Error(`The blocks of the page and of the model differ: ${[...unknown, ...absent].join(', ')}`)
  return text.replace(
    /<!-- computed: (\w+) -->[^]*?<!-- end -->/g,
    (_, name: string) => `<!-- computed: ${name} -->\n\n${blocks[name]}\n<!-- end -->`,
  )
}
