import { createSingleFlight } from './single-flight'

function setUp() {
  const closing = new AbortController()
  const share = createSingleFlight<string>(closing.signal)
  const runs: { end: (result: string) => void; abandoned: AbortSignal }[] = []
  const begin = (abandoned: AbortSignal) =>
    new Promise<string>((end) => {
      runs.push({ end, abandoned })
    })
  return { closing, share, runs, begin }
}

test('callers share what is under way, and the next one begins again', async () => {
  const { share, runs, begin } = setUp()
  const callers = [share(begin), share(begin)]
  expect(runs).toHaveLength(1)
  runs[0]!.end('first')
  expect(await Promise.all(callers)).toEqual([
    { result: 'first', isOwn: true },
    { result: 'first', isOwn: false },
  ])
  const next = share(begin)
  runs[1]!.end('second')
  expect(await next).toEqual({ result: 'second', isOwn: true })
})

test('one that stops leaves it to the others; with the last one it is abandoned, and not joined again', async () => {
  const { share, runs, begin } = setUp()
  const [one, other] = [new AbortController(), new AbortController()]
  const callers = [share(begin, one.signal), share(begin, other.signal)]
  one.abort()
  await expect(callers[0]).rejects.toMatchObject({ code: 'ABORTED' })
  expect(runs[0]!.abandoned.aborted).toBe(false)
  other.abort()
  await expect(callers[1]).rejects.toMatchObject({ code: 'ABORTED' })
  expect(runs[0]!.abandoned.aborted).toBe(true)

  const next = share(begin)
  runs[1]!.end('second')
  expect((await next).result).toBe('second')
})

test('close() ends all of them, and what comes after begins nothing', async () => {
  const { closing, share, runs, begin } = setUp()
  const callers = [share(begin), share(begin)]
  closing.abort()
  for (const caller of callers) await expect(caller).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(share(begin)).rejects.toMatchObject({ code: 'CLOSED' })
  expect(runs).toHaveLength(1)
})
