import { withTimeout } from './with-timeout'

const pending = () => new Promise<string>(() => undefined)

describe('withTimeout', () => {
  test('returns the result of the promise, or its error', async () => {
    expect(await withTimeout(Promise.resolve('done'), 1_000, () => 'late')).toBe('done')
    const failed = withTimeout(Promise.reject(new Error('failed')), 1_000, () => 'late')
    await expect(failed).rejects.toThrow('failed')
  })

  test('returns the result of onTimeout when the time is up, or its error', async () => {
    expect(await withTimeout(pending(), 1, () => 'late')).toBe('late')
    const failed = withTimeout(pending(), 1, () => {
      throw new Error('too late')
    })
    await expect(failed).rejects.toThrow('too late')
  })

  test('clears its timer', async () => {
    const timeouts = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timeouts()
    await withTimeout(Promise.resolve(), 60_000, () => undefined)
    expect(timeouts()).toBe(before)
  })
})
