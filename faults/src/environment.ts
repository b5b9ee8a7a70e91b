import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { newThirdParty } from '@tollgate/e2e/testing/client-keys'
import { startWorld } from '@tollgate/e2e/testing/world'
import { type Evm, type Payer } from './evm'
import { type Family, type NetworkChanges } from './family'
import { type PayingChain, type Payment, type Terms } from './paying-chain'
import { type Stage } from './scenario'
import { openSettlementQueries } from './settlement-queries'
import { openMerchant, type SettleOutcome } from './merchant'

/** A payment, its final response, and when that arrived (`performance.now()`). */
export type Settled = SettleOutcome & { payment: Payment; endedAt: number }

export type LogLine = Record<string, unknown>

export async function signMany(
  payer: Payer,
  count: number,
  { payTo, amount, ...signing }: Terms & { validSeconds?: number },
): Promise<Payment[]> {
  const payments: Payment[] = []
  while (payments.length < count) payments.push(await payer.pay(payTo, amount, signing))
  return payments
}

type Options = {
  facilitators?: number
  /** Variables to override, for all replicas or by name. */
  environment?: Readonly<Record<string, string>> | ((name: string) => NodeJS.ProcessEnv)
  network?: NetworkChanges
}

export type Environment<C extends PayingChain = Evm> = Awaited<ReturnType<typeof prepareEnvironment<C>>>

/**
 * Starts a world with this many facilitators, and opens its chain, the facilitators' database and a merchant.
 */
export async function prepareEnvironment<C extends PayingChain>(
  { signal, closeLater }: Pick<Stage, 'signal' | 'closeLater'>,
  family: Family<C>,
  { facilitators = 1, environment = {}, network }: Options = {},
) {
  const overrides = {
    ...family.overrides(network),
    environment: (name: string) => (typeof environment === 'function' ? environment(name) : environment),
  }
  const starting = startWorld({ signal, overrides })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const world = await starting
  const replicas = [world.facilitator]
  while (replicas.length < facilitators) replicas.push(await world.addFacilitator())
  const urls = replicas.map(({ url }) => url)

  const chain = await family.open(world)
  closeLater(() => chain.close())
  const ledger = openSettlementQueries(world.infrastructure.postgres.facilitator)
  closeLater(() => ledger.close())
  const owner = await newThirdParty(world.facilitator)
  const newMerchant = async () => {
    const merchant = openMerchant(urls, await owner.newKey())
    closeLater(() => merchant.close())
    return merchant
  }
  const merchant = await newMerchant()

  /** Settles all payments in parallel, each with its own Idempotency-Key, and repeats each until it ends. */
  const settleAll = (payments: readonly Payment[]): Promise<Settled[]> =>
    Promise.all(
      payments.map(async (payment, turn) => ({
        payment,
        ...(await merchant.settle(turn, payment.request, randomUUID())),
        endedAt: performance.now(),
      })),
    )

  async function counted(metric: string, label = ''): Promise<number> {
    const pages = await Promise.all(replicas.map(async ({ metricsUrl }) => (await fetch(metricsUrl)).text()))
    const lines = pages.flatMap((page) => page.split('\n')).filter((line) => line.startsWith(`${metric}{`))
    return lines
      .filter((line) => line.includes(label))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  const logNames = replicas.map((_, index) => (index === 0 ? 'facilitator' : `facilitator-${index + 1}`))
  const logged = (message: string): LogLine[] =>
    logNames.flatMap((name) =>
      readFileSync(world.log(name), 'utf8')
        .split('\n')
        .filter((line) => line.includes(JSON.stringify(message)))
        .map((line) => JSON.parse(line) as LogLine)
        .filter((line) => line['message'] === message),
    )
  return { family, world, chain, ledger, merchant, newMerchant, settleAll, counted, logged }
}

export async function playRounds(
  { rounds, signal, say }: Pick<Stage, 'rounds' | 'signal' | 'say'>,
  play: (round: number) => Promise<string[]>,
): Promise<string[]> {
  const problems: string[] = []
  for (let round = 1; round <= rounds; round++) {
    signal.throwIfAborted()
    const found = await play(round)
    for (const problem of found) say(`! round ${round}: ${problem}`)
    problems.push(...found.map((problem) => `round ${round}: ${problem}`))
  }
  return problems
}
