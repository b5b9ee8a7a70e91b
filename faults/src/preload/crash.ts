import { isTriggered, recordKill, TRAP_FOLDER, TRAP_SIGNAL } from '../crash-points/crash-hook'
import { points, type Step, type Trigger } from '../crash-points/steps'
import { type Statement, watchAnswers, watchQuestions, watchStatements } from './watch'

/** Preloaded into a service: watches its output and input, and kills or stops it at the armed step. */
const folder = process.env[TRAP_FOLDER]
if (folder !== undefined) watch(folder)

function watch(crashHook: string) {
  const owners = new Set<number>()
  const signal = process.env[TRAP_SIGNAL] ?? 'SIGKILL'
  const steps = Object.entries(points) as [Step, { trigger: Trigger }][]
  const reach = (isReached: (trigger: Trigger) => boolean) => {
    for (const [step, { trigger }] of steps) {
      if (!isReached(trigger) || !isTriggered(crashHook, step)) continue
      recordKill(crashHook, { pid: process.pid, step, at: Date.now(), owners: [...owners] })
      process.kill(process.pid, signal)
    }
  }

  watchStatements({
    sent: (statement) => reach((trigger) => isOf(trigger, 'sent', statement)),
    committed: (statement) => reach((trigger) => isOf(trigger, 'committed', statement)),
    locked: (session) => owners.add(session),
  })
  watchQuestions(({ method, params, result }) =>
    reach((trigger) => 'rpc' in trigger && trigger.rpc === method && trigger.answered(result, params)),
  )
  watchAnswers(({ path, body }) =>
    reach((trigger) => 'http' in trigger && trigger.http.test(path) && trigger.answer.test(body)),
  )
}

const isOf = (trigger: Trigger, when: 'sent' | 'committed', { text, values }: Statement) =>
  'sql' in trigger && trigger.when === when && trigger.sql.test(text) && (trigger.of?.(values) ?? true)
