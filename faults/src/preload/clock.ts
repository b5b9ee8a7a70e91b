import { readFileSync, writeFileSync } from 'node:fs'
import { answerTo, CLOCK_FILE } from '../clock/service-clock'

/**
 * Preloaded into a service: its clock runs ahead by the milliseconds in a file, which is read at the start
 * and at each SIGUSR2, and acknowledged in a file beside it. Timers are unaffected.
 */
const clockFile = process.env[CLOCK_FILE]
if (clockFile !== undefined) moveClock(clockFile)

function moveClock(file: string) {
  const RealDate = Date
  const read = () => {
    const milliseconds = readFileSync(file, 'utf8')
    writeFileSync(answerTo(file), milliseconds)
    return Number(milliseconds)
  }
  let ahead = read()
  process.on('SIGUSR2', () => (ahead = read()))
  const now = () => RealDate.now() + ahead

  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) =>
      name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown),
  })
}
