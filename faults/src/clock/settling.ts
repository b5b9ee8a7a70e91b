import { until } from '@tollgate/e2e/testing/paying'
import { auditPayments, auditTransactions } from '../audit-payments'
import { signMany, type Environment } from '../environment'
import { PAYMENTS, type ClockJump, type JumpResult } from './clock-jump'

const AMOUNT = 10_000n
const MONEY = 1_000_000n

/**
 * Settles payments at the facilitator before, during and after a clock jump. `validSeconds` is their validity
 * before the jump and after the correction.
 */
export async function settleAroundJump(
  environment: Environment,
  { fault, wrong, right }: ClockJump,
  { before, after }: { before: number; after: number } = { before: 600, after: 600 },
): Promise<{ problems: string[]; result: JumpResult }> {
  const { chain, ledger } = environment
  const payTo = await chain.newRecipient()
  const payer = await chain.newPayer(MONEY)
  const sign = (validSeconds: number) => signMany(payer, PAYMENTS, { payTo, amount: AMOUNT, validSeconds })
  const [first, second, third] = [await sign(before), await sign(before), await sign(after)]

  await chain.setPace('stopped')
  const early = environment.settleAll(first)
  await until(
    () => ledger.paidTo(payTo),
    (rows) => rows.length === PAYMENTS && rows.every(({ status }) => status === 'signed'),
  )
  await wrong()
  await chain.setPace('at-once')
  const under = [...(await early), ...(await environment.settleAll(second))]
  await right()
  const began = performance.now()
  const last = await environment.settleAll(third)
  await until(ledger.open, (open) => open === 0)
  const seconds = (performance.now() - began) / 1000

  const ended = [...under, ...last]
  const { problems, successes, transfers } = await auditPayments({ ...environment, payTo, ended })
  problems.push(...(await auditTransactions(environment)))
  if (!last.every(({ end }) => end.success))
    problems.push('a payment failed although the clock is right again')
  const refusals = ended.flatMap(({ end }) => (end.success ? [] : [end.errorReason]))
  return {
    problems: problems.map((problem) => `${fault}: ${problem}`),
    result: { fault, payments: ended.length, successes, refusals, transfers, seconds },
  }
}
