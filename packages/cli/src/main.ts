#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isReaderGone } from './output/output'
import { runProgram } from './program'
import { type Terminal } from './terminal'

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

const terminal: Terminal = {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  onStop(listener) {
    const stops = Object.entries(EXIT_CODES).map(([signal, exitCode]) => {
      const stop = () => listener(exitCode)
      process.once(signal, stop)
      return () => process.off(signal, stop)
    })
    return () => stops.forEach((stop) => stop())
  },
}

const { version } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')) as {
  version: string
}

function flush(stream: NodeJS.WriteStream, done: () => void): void {
  if (stream.writableLength > 0) stream.write('', () => done())
  else done()
}

for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: Error) => {
    if (isReaderGone(error)) process.exit(0)
    process.exitCode = 1
    // After the message of the command, which knows what is lost.
    setImmediate(() => process.exit())
  })

void runProgram(process.argv.slice(2), { terminal, version }).then((exitCode) => {
  process.exitCode ||= exitCode
  // After what was written: what a Ctrl-C has left running, such as a request, would keep the process.
  flush(process.stdout, () => flush(process.stderr, () => setImmediate(() => process.exit())))
})
