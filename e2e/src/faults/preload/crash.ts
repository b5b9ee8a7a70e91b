import { springs, tellKill, TRAP_FOLDER } from '../crash-points/trap'
import { points, type Step, type Trigger } from '../crash-points/steps'
import { watchAnswers, watchQuestions, watchStatements } from './watch'

/**
 * Loaded into a service before its own first line: watches what leaves the process and what comes back, and kills it at the
 * step for which the trap is armed. The service does not know.
 */
const folder = process.env[TRAP_FOLDER]
if (folder !== undefined) watch(folder)

function watch(trap: string) {
  const owners = new Set<number>()
  const steps = Object.entries(points) as [Step, { trigger: Trigger }][]
  const reach = (isReached: (trigger: Trigger) => boolean) => {
    for (const [step, { trigger }] of steps) {
      if (!isReached(trigger) || !springs(trap, step)) continue
      tellKill(trap, { pid: process.pid, step, at: Date.now(), owners: [...owners] })
      process.kill(process.pid, 'SIGKILL')
    }
  }

  watchStatements({
    sent: (text) => reach((trigger) => 'sql' in trigger && trigger.when === 'sent' && trigger.sql.test(text)),
    committed: (text) =>
      reach((trigger) => 'sql' in trigger && trigger.when === 'committed' && trigger.sql.test(text)),
    locked: (session) => owners.add(session),
  })
  watchQuestions(({ method, result }) =>
    reach((trigger) => 'rpc' in trigger && trigger.rpc === method && trigger.answered(result)),
  )
  watchAnswers(({ path, body }) =>
    reach((trigger) => 'http' in trigger && trigger.http.test(path) && trigger.answer.test(body)),
  )
}
