import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@tollgate/e2e/testing/paying'

/** The variable with the path of a service's clock file. */
export const CLOCK_FILE = 'FAULTS_CLOCK_FILE'

/** The file in which the service acknowledges its clock setting. */
export const answerTo = (file: string) => `${file}.done`

const PRELOAD = join(__dirname, '../preload/clock.js')

export function openClocks() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-clocks-'))
  const fileOf = (name: string) => join(folder, name)

  return {
    environment(name: string) {
      writeFileSync(fileOf(name), '0')
      return { NODE_OPTIONS: `--require=${PRELOAD}`, [CLOCK_FILE]: fileOf(name) }
    },

    /** Resolves when the clock of the service `name` is this many seconds ahead of ours. */
    async move(name: string, { pid }: { pid: () => number }, seconds: number): Promise<void> {
      const milliseconds = String(seconds * 1000)
      writeFileSync(fileOf(name), milliseconds)
      process.kill(pid(), 'SIGUSR2')
      await until(
        () => Promise.resolve(readFileSync(answerTo(fileOf(name)), 'utf8')),
        (done) => done === milliseconds,
      )
    },

    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
