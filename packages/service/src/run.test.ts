import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Line } from './testing/log'
import { freePort } from '@tollgate/processes'

const folder = join(__dirname, 'testing')
const children: ChildProcess[] = []

function start(mode: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['-r', join(folder, 'register.cjs'), join(folder, 'service.ts')], {
    env: { PATH: process.env.PATH, MODE: mode, PORT: '0', JWT_SECRET: 's'.repeat(32), ...env },
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
    async logged(message: string): Promise<Line> {
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
  '%s closes the parts in reverse order, one at a time, and exits with 0',
  async (signal) => {
    const service = start('')
    await service.logged('started')
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

test('closes the other parts if one fails to close', async () => {
  const service = start('broken closer')
  await service.logged('started')
  service.child.kill('SIGTERM')
  expect(await service.exit()).toBe(0)
  expect(service.messages()).toEqual(expect.arrayContaining(['close failed redis', 'closed database']))
})

test('exits with 1 if a part does not close in time', async () => {
  const service = start('stuck closer')
  await service.logged('started')
  service.child.kill('SIGTERM')
  expect(await service.exit()).toBe(1)
  expect(service.messages()).toContain('shutdown timed out')
})

test('a second signal exits at once', async () => {
  const service = start('stuck closer')
  await service.logged('started')
  service.child.kill('SIGTERM')
  await service.logged('stopping')
  service.child.kill('SIGTERM')
  expect(await service.exit()).toBe(1)
  expect(service.messages()).not.toContain('shutdown timed out')
})

test('a signal during the start aborts it and closes the open parts', async () => {
  const service = start('slow start')
  await service.logged('waiting')
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

test('an invalid environment exits with 78 and lists every variable without its value', async () => {
  const service = start('', { PORT: 'hunter2', JWT_SECRET: '' })
  expect(await service.exit()).toBe(78)
  expect(service.errors().trim().split('\n')).toEqual([
    'child: The service cannot run as it is configured:',
    '  PORT: expected a port, 0 to 65535',
    '  JWT_SECRET: not set; expected a secret of at least 32 bytes, such as `openssl rand -hex 32` makes',
  ])
  expect((await service.logged('start failed')).problems).toHaveLength(2)
  expect(JSON.stringify(service.lines())).not.toContain('hunter2')
})

test('a port in use exits with an error that names it, and closes the open parts', async () => {
  const port = await freePort()
  const first = start('', { PORT: String(port) })
  await first.logged('started')
  const second = start('', { PORT: String(port) })
  expect(await second.exit()).toBe(78)
  expect(second.errors()).toContain(
    `port ${port} of 127.0.0.1 is in use: stop what listens there, or set another port`,
  )
  expect(second.errors()).not.toContain('    at ')
  expect(second.messages()).toContain('closed database')
})

test('a failed start exits with 1 and logs the error with its causes', async () => {
  const service = start('failing start')
  expect(await service.exit()).toBe(1)
  expect((await service.logged('start failed')).error).toMatchObject({
    message: 'no database',
    cause: { message: 'connect ECONNREFUSED' },
  })
  expect(service.messages()).toContain('closed database')
})

test.each([
  ['uncaught', 'uncaught exception'],
  ['unhandled', 'unhandled rejection'],
])('an %s error is logged and exits with 1', async (mode, message) => {
  const service = start(mode)
  expect(await service.exit()).toBe(1)
  expect(await service.logged(message)).toMatchObject({
    level: 'error',
    error: { message: mode },
  })
})

test('writes every log line before it exits', async () => {
  const service = start('talkative')
  await service.logged('listening')
  // A slow reader: more lines are pending than the pipe holds.
  service.child.stdout.pause()
  service.child.kill('SIGTERM')
  await setTimeout(300)
  service.child.stdout.resume()
  await service.exit()
  expect(service.messages().filter((message) => message === 'talk')).toHaveLength(20_000)
  expect(service.messages().at(-1)).toBe('stopped')
})
