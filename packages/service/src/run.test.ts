import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Line } from './testing/log'
import { freePort } from './testing/redis'

const folder = join(__dirname, 'testing')
const children: ChildProcess[] = []

/** Starts the service in a process of its own. */
function start(mode: string, given: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['-r', join(folder, 'register.cjs'), join(folder, 'service.ts')], {
    env: { PATH: process.env.PATH, MODE: mode, PORT: '0', JWT_SECRET: 's'.repeat(32), ...given },
  })
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  const ended = once(child, 'close')
  const lines = () =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  children.push(child)
  return {
    child,
    lines,
    messages: () =>
      lines().map(({ message, part }) => (typeof part === 'string' ? `${message} ${part}` : message)),
    errors: () => err,
    async says(message: string): Promise<Line> {
      for (;;) {
        const line = lines().find((found) => found.message === message)
        if (line) return line
        await once(child.stdout, 'data')
      }
    },
    async exit() {
      const [code, signal] = (await ended) as [number | null, string | null]
      return code ?? signal
    },
  }
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s closes what was opened, last first, one after the other, and exits with 0',
  async (signal) => {
    const service = start('')
    await service.says('started')
    service.child.kill(signal)
    expect(await service.exit()).toBe(0)
    expect(service.messages()).toEqual([
      'listening',
      'started',
      'stopping',
      'closed server',
      'redis closes',
      'closed redis',
      'database closes',
      'closed database',
      'stopped',
    ])
  },
)

test('a part that fails to close does not keep the others from it', async () => {
  const service = start('broken closer')
  await service.says('started')
  service.child.kill('SIGTERM')
  expect(await service.exit()).toBe(0)
  expect(service.messages()).toEqual(expect.arrayContaining(['could not close redis', 'closed database']))
})

test('what does not close in time is left, and the exit code tells', async () => {
  const service = start('stuck closer')
  await service.says('started')
  service.child.kill('SIGTERM')
  expect(await service.exit()).toBe(1)
  expect(service.messages()).toContain('did not stop in time')
})

test('a second signal ends it at once', async () => {
  const service = start('stuck closer')
  await service.says('started')
  service.child.kill('SIGTERM')
  await service.says('stopping')
  service.child.kill('SIGTERM')
  expect(await service.exit()).toBe(1)
  expect(service.messages()).not.toContain('did not stop in time')
})

test('a signal during the start ends the start, and closes what was open by then', async () => {
  const service = start('slow start')
  await service.says('waiting')
  service.child.kill('SIGTERM')
  expect(await service.exit()).toBe(0)
  expect(service.messages()).toEqual([
    'waiting',
    'stopping',
    'redis closes',
    'closed redis',
    'database closes',
    'closed database',
    'stopped',
  ])
})

test('a wrong environment ends it with 78, every variable named on a line of its own, no value told', async () => {
  const service = start('', { PORT: 'hunter2', JWT_SECRET: '' })
  expect(await service.exit()).toBe(78)
  expect(service.errors().trim().split('\n')).toEqual([
    'child: The service cannot run as it is configured:',
    '  PORT: expected a port, 0 to 65535',
    '  JWT_SECRET: not set; expected a secret of at least 32 bytes, such as `openssl rand -hex 32` makes',
  ])
  expect((await service.says('cannot start')).problems).toHaveLength(2)
  expect(JSON.stringify(service.lines())).not.toContain('hunter2')
})

test('a busy port ends it with the port named and no stack, and closes what was open', async () => {
  const port = await freePort()
  const first = start('', { PORT: String(port) })
  await first.says('started')
  const second = start('', { PORT: String(port) })
  expect(await second.exit()).toBe(78)
  expect(second.errors()).toContain(
    `port ${port} of 127.0.0.1 is in use: stop what listens there, or set another port`,
  )
  expect(second.errors()).not.toContain('    at ')
  expect(second.messages()).toContain('closed database')
})

test('a start that fails ends it with 1 and the whole reason', async () => {
  const service = start('failing start')
  expect(await service.exit()).toBe(1)
  expect((await service.says('cannot start')).error).toMatchObject({
    message: 'no database',
    cause: { message: 'connect ECONNREFUSED' },
  })
  expect(service.messages()).toContain('closed database')
})

test.each([
  ['uncaught', 'an error was not caught'],
  ['unhandled', 'a rejection was not handled'],
])('an error that is %s is told, and ends it with 1', async (mode, message) => {
  const service = start(mode)
  expect(await service.exit()).toBe(1)
  expect(await service.says(message)).toMatchObject({
    level: 'error',
    error: { message: /^nobody/ as never },
  })
})

test('not one line of the log is lost at the end', async () => {
  const service = start('talkative')
  await service.says('listening')
  // A reader that is slow: more is on its way than the pipe holds.
  service.child.stdout.pause()
  service.child.kill('SIGTERM')
  await setTimeout(300)
  service.child.stdout.resume()
  await service.exit()
  expect(service.messages().filter((message) => message === 'talk')).toHaveLength(20_000)
  expect(service.messages().at(-1)).toBe('stopped')
})
