import { newCustomer, type Customer } from '@tollgate/e2e/testing/customers'
import { call, sign, until } from '@tollgate/e2e/testing/paying'
import { type Environment } from '../environment'
import { PAYMENTS, type ClockJump, type JumpResult } from './clock-jump'

const WITHIN_SECONDS = 60

export async function buyAroundJump(
  environment: Environment,
  { fault, wrong, right }: ClockJump,
  validSeconds: number,
): Promise<{ problems: string[]; result: JumpResult }> {
  const { chain, world, ledger } = environment
  const callers = await newCallers(environment, 3 * PAYMENTS, validSeconds)
  const buy = (from: number) =>
    Promise.all(
      callers.slice(from, from + PAYMENTS).map(({ customer, payment }) =>
        until(
          () => call(world, customer.session.token, payment),
          ({ status }) => status !== 503,
          WITHIN_SECONDS,
        ),
      ),
    )

  await chain.setPace('stopped')
  const early = buy(0)
  await until(ledger.open, (open) => open > 0)
  await wrong()
  await chain.setPace('at-once')
  const under = [...(await early), ...(await buy(PAYMENTS))]
  await right()
  const began = performance.now()
  const last = await buy(2 * PAYMENTS)
  await until(ledger.open, (open) => open === 0)
  const seconds = (performance.now() - began) / 1000

  const answers = [...under, ...last]
  const paid = (await chain.paidTo(world.plan.pay_to)).map(({ id }) => id.split(' ')[0])
  const transfersOf = ({ customer }: Caller) =>
    paid.filter((payer) => payer === customer.address.toLowerCase()).length
  const problems = answers.flatMap(({ status, body }, index) => {
    const caller = callers[index]
    const transfers = caller ? transfersOf(caller) : 0
    const isRight = transfers === (status === 200 ? 1 : 0)
    return isRight ? [] : [`a caller that got ${status} ${JSON.stringify(body)} paid ${transfers} times`]
  })
  if (!last.every(({ status }) => status === 200))
    problems.push('a caller was not served although the clock is right again')
  const refusals = answers.flatMap(({ status, body }) =>
    status === 200 ? [] : [`${status} ${(body['code'] as string | undefined) ?? ''}`.trim()],
  )
  return {
    problems: problems.map((problem) => `${fault}: ${problem}`),
    result: {
      fault,
      payments: callers.length,
      successes: answers.length - refusals.length,
      refusals,
      transfers: callers.reduce((sum, caller) => sum + transfersOf(caller), 0),
      seconds,
    },
  }
}

type Caller = { customer: Customer; payment: string }

async function newCallers({ world }: Environment, count: number, validSeconds: number): Promise<Caller[]> {
  const callers: Caller[] = []
  while (callers.length < count) {
    const customer = await newCustomer(world, world.plan)
    const asked = await call(world, customer.session.token)
    callers.push({ customer, payment: await sign(customer.wallet, asked.body, { validSeconds }) })
  }
  return callers
}
