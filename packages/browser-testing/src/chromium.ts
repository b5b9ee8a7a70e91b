import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome']

const executablePath = [
  process.env['CHROMIUM'] ?? '',
  ...(process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => COMMANDS.map((command) => join(folder, command))),
].find(isRunnable)

/** `describe` where there is a Chromium; elsewhere its tests are skipped, and the output says why. */
export function describeInBrowser(name: string, tests: () => void) {
  if (executablePath) describe(name, tests)
  else {
    process.stderr.write(`skipped: ${name} (no chromium on the PATH)\n`)
    describe.skip(`${name} (chromium on the PATH)`, tests)
  }
}

export function chromiumPath(): string {
  if (!executablePath) throw new Error(`None of ${COMMANDS.join(', ')} is on the PATH`)
  return executablePath
}

function isRunnable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return file !== ''
  } catch {
    return false
  }
}
