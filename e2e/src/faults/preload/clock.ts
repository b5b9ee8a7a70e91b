import { readFileSync, writeFileSync } from 'node:fs'
import { answerTo, CLOCK_FILE } from '../clock/moved-clock'

/**
 * Loaded into a service before its own first line: its clock is as many milliseconds ahead of the machine's as the file says,
 * which is read at the start and at each SIGUSR2, and written down beside it as done. Timers go on at their own pace. The service does not know.
 */
const file = process.env[CLOCK_FILE]
if (file !== undefined) moveClock(file)

function moveClock(told: string) {
  const RealDate = Date
  const read = () => {
    const milliseconds = readFileSync(told, 'utf8')
    writeFileSync(answerTo(told), milliseconds)
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
