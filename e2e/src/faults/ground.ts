import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { newThirdParty } from '../testing/client-keys'
import { startWorld } from '../testing/world'
import { type Evm, type Payer } from './evm'
import { type Family, type NetworkChanges } from './family'
import { type PayingChain, type Payment, type Terms } from './paying-chain'
import { type Stage } from './scenario'
import { openSettlementBooks } from './settlement-books'
import { openShop, type Told } from './shop'

/** A payment, what its shop was told of it in the end, and when (`performance.now()`). */
export type Settled = Told & { payment: Payment; toldAt: number }

/** A line of a service's log: its message, and its facts. */
export type LogLine = Record<string, unknown>

/** So many payments of one payer. */
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
  /** What is to be otherwise for each of them. */
  environment?: Readonly<Record<string, string>> | ((name: string) => NodeJS.ProcessEnv)
  network?: NetworkChanges
}

export type Ground<C extends PayingChain = Evm> = Awaited<ReturnType<typeof prepareGround<C>>>

/** A world with so many facilitators, its chain of this family and the facilitators' books opened, and a shop that they know. */
export async function prepareGround<C extends PayingChain>(
  { signal, closeLater }: Pick<Stage, 'signal' | 'closeLater'>,
  family: Family<C>,
  { facilitators = 1, environment = {}, network }: Options = {},
) {
  const alterations = {
    ...family.alterations(network),
    environment: (name: string) => (typeof environment === 'function' ? environment(name) : environment),
  }
  const starting = startWorld({ signal, alterations })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const world = await starting
  const replicas = [world.facilitator]
  while (replicas.length < facilitators) replicas.push(await world.addFacilitator())
  const urls = replicas.map(({ url }) => url)

  const chain = await family.open(world)
  closeLater(() => chain.close())
  const books = openSettlementBooks(world.foundation.postgres.facilitator)
  closeLater(() => books.close())
  const owner = await newThirdParty(world.facilitator)
  /** Each with a client key of its own. */
  const newShop = async () => {
    const shop = openShop(urls, await owner.newKey())
    closeLater(() => shop.close())
    return shop
  }
  const shop = await newShop()

  /** Has all of them settled at the same time, each under an Idempotency-Key of its own, and asks until each has its end. */
  const settleAll = (payments: readonly Payment[]): Promise<Settled[]> =>
    Promise.all(
      payments.map(async (payment, turn) => ({
        payment,
        ...(await shop.settle(turn, payment.request, randomUUID())),
        toldAt: performance.now(),
      })),
    )

  /** What a metric of the facilitators adds up to, over all of them and all its labels but the one that is told. */
  async function counted(metric: string, label = ''): Promise<number> {
    const pages = await Promise.all(replicas.map(async ({ metricsUrl }) => (await fetch(metricsUrl)).text()))
    const lines = pages.flatMap((page) => page.split('\n')).filter((line) => line.startsWith(`${metric}{`))
    return lines
      .filter((line) => line.includes(label))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  const logNames = replicas.map((_, index) => (index === 0 ? 'facilitator' : `facilitator-${index + 1}`))
  /** The lines with this message in the logs of the facilitators, each with its facts. */
  const logged = (message: string): LogLine[] =>
    logNames.flatMap((name) =>
      readFileSync(world.log(name), 'utf8')
        .split('\n')
        .filter((line) => line.includes(JSON.stringify(message)))
        .map((line) => JSON.parse(line) as LogLine)
        .filter((line) => line['message'] === message),
    )
  return { family, world, chain, books, shop, newShop, settleAll, counted, logged }
}

/** Plays the rounds one after the other, and answers what did not hold in them. */
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
