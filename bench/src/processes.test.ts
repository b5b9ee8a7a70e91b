import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpuSeconds, parseStat, peakResidentBytes, residentBytes, withCpuSeconds } from './processes'

test('reads a stat line whose program name has spaces and parentheses', () => {
  const line = '42 (a (b) c) S 7 42 42 0 -1 4194304 100 200 0 0 150 50 30 20 20 0 1 0 100 1 1'
  expect(parseStat(line)).toEqual({ pid: 42, parent: 7, cpuTicks: 250 })
})

test('counts the CPU of a process, and of its children that run and that have ended', async () => {
  const spin = 'const end = Date.now() + 300; while (Date.now() < end);'
  const child = spawn(
    process.execPath,
    [
      '-e',
      `const { spawn, spawnSync } = require('node:child_process')
     spawnSync(process.execPath, ['-e', ${JSON.stringify(spin)}])
     spawn(process.execPath, ['-e', ${JSON.stringify(`${spin} setInterval(() => {}, 1000); console.log('spun')`)}], { stdio: 'inherit' })`,
    ],
    { detached: true },
  )
  try {
    const { result, cpu } = await withCpuSeconds({ child: child.pid ?? 0 }, async () => {
      await once(child.stdout, 'data')
      return 'done'
    })
    expect(result).toBe('done')
    // Two of 0.3 s each, on a machine that may be busy.
    expect(cpu.child).toBeGreaterThan(0.3)
    expect(residentBytes(child.pid ?? 0)).toBeGreaterThan(2 * 20_000_000)
    expect(peakResidentBytes(child.pid ?? 0)).toBeGreaterThan(20_000_000)
  } finally {
    // Its group: the grandchild too.
    process.kill(-(child.pid ?? 0), 'SIGKILL')
  }
})

test('refuses a process that does not exist', () => {
  expect(() => cpuSeconds(2 ** 30)).toThrow('There is no process')
})
