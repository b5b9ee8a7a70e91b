import { isTollgateError, type Plan } from '@tollgate/wallet'
import { type Command } from 'commander'
import { setTimeout as delay } from 'node:timers/promises'
import { changesBetween, readAccount, type Account, type Change } from '../account-changes'
import { UsageError } from '../exit-codes'
import { type Colors } from '../output/output'
import { createScreen } from '../output/screen'
import { table, time } from '../output/table'
import { planName } from '../plan-name'
import { type Context, type Run } from '../run-command'
import { CALL_HEAD, callRow } from './history'
import { describe } from './help'

type Options = { interval?: string }

export const watchCommand = (run: Run): Command =>
  describe(
    'watch',
    'Show the credits and the newest calls of the wallet, live, until Ctrl-C',
    'tollgate watch',
    'tollgate watch --json | jq --unbuffered .credits',
  )
    .option('--interval <seconds>', 'how often it asks (default: 2)')
    .action(
      run<Options>(async (context) => {
        const { options, open, signal } = context
        const intervalMs = parseInterval(options.interval) * 1000
        const { tollgate, wallet, plans } = await open()
        const show = createDisplay(context, { address: wallet.address, plans: await plans() })
        let known: Account | undefined
        context.endsWithCtrlC()
        while (!signal.aborted) {
          try {
            const now = await readAccount(tollgate, known)
            show(changesBetween(known, now), now, undefined)
            known = now
          } catch (error) {
            if (!known || !isTransient(error)) throw error
            show([], known, 'No answer; trying again')
          }
          await context.output.written()
          await delay(intervalMs, undefined, { signal }).catch(() => undefined)
        }
      }),
    )

type Display = (changes: readonly Change[], account: Account, problem: string | undefined) => void

function createDisplay(
  { output, terminal }: Context<Options>,
  { address, plans }: { address: string; plans: readonly Plan[] },
): Display {
  if (output.isJson || !output.isTerminal)
    return (changes) => {
      const at = new Date().toISOString()
      for (const change of changes) output.line({ time: at, ...change }, () => lineOf(change, at))
    }
  const draw = createScreen(terminal.stdout)
  return (_, account, problem) => draw(screenOf(output.colors, { address, plans, account, problem }))
}

const SHOWN_CALLS = 10

function screenOf(
  colors: Colors,
  parts: { address: string; plans: readonly Plan[]; account: Account; problem: string | undefined },
): string {
  const { address, plans, account, problem } = parts
  const balances = account.balances.map((one) => [
    ...[one.pricing_plan_id, planName(plans, one.pricing_plan_id), one.remaining_credits],
  ])
  return [
    colors.bold(address),
    '',
    table(colors, ['Plan', 'Name', 'Credits'], balances, 'No credits.'),
    '',
    table(colors, CALL_HEAD, account.calls.slice(0, SHOWN_CALLS).map(callRow), 'No calls.'),
    '',
    problem === undefined
      ? colors.dim(`${time(new Date().toISOString())} UTC, Ctrl-C ends`)
      : colors.yellow(problem),
  ].join('\n')
}

function lineOf(change: Change, at: string): string {
  if (change.event === 'credits')
    return `${time(at)}  plan ${change.plan_id}: ${change.credits} credits${change.before === null ? '' : ` (were ${change.before})`}`
  const { created_at, chain_id, rpc_method, transport, credits, outcome } = change.call
  return `${time(created_at)}  ${chain_id} ${rpc_method ?? transport}: ${outcome}, ${credits} credits`
}

/** The gateway may be away for a while. */
function isTransient(error: unknown): boolean {
  if (!isTollgateError(error)) return false
  const { status } = error.details
  return (
    ['TIMEOUT', 'UNREACHABLE'].includes(error.code) ||
    status === 429 ||
    (typeof status === 'number' && status >= 500)
  )
}

function parseInterval(text = '2'): number {
  const seconds = Number(text)
  if (/^[0-9]+(\.[0-9]+)?$/.test(text) && seconds >= 0.1 && seconds <= 86_400) return seconds
  throw new UsageError('--interval is a number of seconds, from 0.1')
}
