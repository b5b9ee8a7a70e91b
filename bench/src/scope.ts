import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchmarkContext } from './benchmark'

/** Runs a part of a benchmark in a subfolder, and closes what it opened before it returns. */
export async function inScope<Context extends Pick<BenchmarkContext, 'folder' | 'closeLater'>, Result>(
  context: Context,
  name: string,
  use: (context: Context) => Promise<Result>,
): Promise<Result> {
  const folder = join(context.folder, name)
  mkdirSync(folder, { recursive: true })
  const closing: (() => unknown)[] = []
  const close = async () => {
    for (let last = closing.pop(); last; last = closing.pop()) await last()
  }
  // If the benchmark is interrupted.
  context.closeLater(close)
  try {
    return await use({ ...context, folder, closeLater: (part) => closing.push(part) })
  } finally {
    await close()
  }
}
