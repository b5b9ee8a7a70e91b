import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { removePostgres } from '@tollgate/devnet'
import { COUNTED_CHAIN, countedCall } from '@tollgate/e2e/testing/callers'
import { until } from '@tollgate/e2e/testing/paying'
import { openSession, root, type World } from '@tollgate/e2e/testing/world'
import { auditMoney } from '../audit'
import { playRounds } from '../environment'
import { type Scenario, type Stage } from '../scenario'
import { backUp, restore } from './base-backup'
import { startDeployment, type Deployment } from './deployment'
import { countRequests, DESCRIPTION, startTraffic, type Traffic } from './traffic'

const HELP = `Two gateways and two facilitators behind nginx, under load: ${DESCRIPTION}.
  A base backup of both databases is made while payments go on, which then continue. The database server is killed (kill -9) with all
  services, and the backup is restored into a new server by the steps of docs/operate/back-up-and-restore.md. The checks of both
  services must find no violation. Each payment that was settled after the backup is sent again: it must be credited once, some by the
  operator’s command after it was refused as spent, without a second transfer; and new payments must be settled. Needs nginx.`

const LOAD_MS = 6_000
const OUTCOME_SECONDS = 60

export const restoreUnderLoad: Scenario = {
  name: 'restore',
  help: HELP,
  rounds: 1,
  async run(stage) {
    const lost = { purchases: 0, sales: 0, payments: 0 }
    const problems = await playRounds(stage, () => playRound(stage, lost))
    return {
      problems,
      rows: [
        {
          fault:
            'Postgres is lost under load, and a base backup that is older than some payments is restored',
          where: 'Postgres',
          times: stage.rounds,
          payments: lost.payments,
          outcome:
            'The checks find no violation. A payment that the backup lacks is never transferred again. Sent again it is refused as spent, and credited once by the operator.',
          counted: `${lost.purchases} payments of wallets and ${lost.sales} of merchants settled after the backup and sent again, 0 second transfers`,
        },
      ],
    }
  },
}

async function playRound(
  stage: Stage,
  lost: { purchases: number; sales: number; payments: number },
): Promise<string[]> {
  const { say, signal } = stage
  const folders: string[] = []
  stage.closeLater(() => folders.forEach(removePostgres))
  const deployment = await startDeployment(stage)
  const { world } = deployment
  const folder = join(world.folder, 'restored')
  folders.push(folder)
  const traffic = await startTraffic(stage, deployment)
  await delay(LOAD_MS)
  await backUp(world, folder)
  const backedUpAt = Date.now()
  say(`· backed up, with ${await traffic.paid()} payments so far`)
  await delay(LOAD_MS)
  await traffic.stop()
  signal.throwIfAborted()
  const paid = await traffic.paid()

  process.kill(world.infrastructure.postgres.server.pid, 'SIGKILL')
  await deployment.stopAll()
  await restore(world, folder)
  const problems = await check(stage, deployment)
  await deployment.startAll()
  say('· restored, services started')
  const purchases = traffic.purchases.filter(({ at }) => at > backedUpAt)
  const sales = traffic.sales.filter(({ at }) => at > backedUpAt)
  problems.push(
    ...(await buyAgain(deployment, traffic, purchases)),
    ...(await settleAgain(deployment, traffic, sales)),
  )

  const afterwards = await startTraffic(stage, deployment)
  await delay(LOAD_MS)
  await afterwards.stop()
  const { all, failed, away, examples } = countRequests(afterwards.sent)
  if (failed + away > 0)
    problems.push(`${failed + away} of ${all} requests failed afterwards: ${examples.join('; ')}`)
  if ((await afterwards.paid()) === 0) problems.push('no payment was settled afterwards')
  problems.push(...(await check(stage, deployment)))
  lost.purchases += purchases.length
  lost.sales += sales.length
  lost.payments += paid
  say(
    `· ${purchases.length} payments of wallets and ${sales.length} of merchants, settled after the backup, were sent again`,
  )
  return problems
}

const operate = ({ infrastructure }: World, words: string[]) =>
  promisify(execFile)(process.execPath, [join(root, 'apps/gateway/bin/gateway.js'), ...words], {
    env: { ...process.env, DATABASE_URL: infrastructure.postgres.gateway },
    timeout: 60_000,
  })

/** What an operator runs. */
async function check({ say }: Stage, { world }: Deployment): Promise<string[]> {
  const { gateway, facilitator } = world.infrastructure.postgres
  const commands = [
    { args: ['apps/gateway/bin/gateway.js', 'audit'], url: gateway },
    { args: ['apps/facilitator/bin/facilitator.js', 'settlements', 'audit'], url: facilitator },
  ]
  const problems: string[] = []
  for (const { args, url } of commands) {
    const [file = '', ...words] = args
    const { stdout } = await promisify(execFile)(process.execPath, [join(root, file), ...words], {
      env: { ...process.env, DATABASE_URL: url },
      timeout: 60_000,
    }).catch((error: unknown) => ({ stdout: (error as { stdout: string }).stdout }))
    say([`· ${args.slice(1).join(' ')}:`, ...stdout.trimEnd().split('\n')].join('\n    '))
    if (!/^violations +none$/m.test(stdout)) problems.push(`${args.join(' ')} found violations`)
  }
  return problems
}

/**
 * A wallet sends a payment again that the restored gateway does not know, in a new session. If the facilitator does not know it
 * either, it is credited if it was made in the last minutes, and else refused: the operator looks its transaction up, and credits it.
 */
async function buyAgain(
  deployment: Deployment,
  traffic: Traffic,
  purchases: Traffic['purchases'],
): Promise<string[]> {
  const { entrance, nginx, world } = deployment
  const problems: string[] = []
  const sessions = new Map<string, string>()
  for (const [n, { wallet, payment }] of purchases.entries()) {
    const call = countedCall(`again/${n}`)
    const send = async () => {
      const headers = {
        'x-payment': payment,
        ...(wallet === undefined ? {} : { authorization: `Bearer ${await tokenOf(wallet)}` }),
      }
      const url = wallet === undefined ? `${nginx.gatewayUrl}/v1/${COUNTED_CHAIN}` : `${nginx.gatewayUrl}/rpc`
      return traffic.requests.ask('payment again', url, {
        headers,
        body: wallet === undefined ? call.payload : call,
        isRight: ({ status, body }) =>
          status === 200 ||
          (status === 402 && /invalid_transaction_state|credited to its payer/.test(JSON.stringify(body))),
      })
    }
    const { verdict } = await until(send, (sent) => sent.verdict !== 'pending', OUTCOME_SECONDS)
    if (verdict !== 'done')
      problems.push(`a payment that was sent again was answered ${traffic.sent.at(-1)?.answer}`)
  }
  const transfers = await traffic.chain.paidTo(traffic.plan.pay_to)
  for (const { id, payer, nonce } of await traffic.ledger.rows<Record<'id' | 'payer' | 'nonce', string>>(
    "SELECT id, payer, nonce FROM payments WHERE status = 'failed'",
  )) {
    const transfer = transfers.find((one) => one.id === `${payer} ${nonce}`.toLowerCase())
    await operate(world, ['payments', 'credit', id, transfer?.transaction ?? ''])
  }
  await until(
    () => traffic.ledger.count("FROM payments WHERE status <> 'credited'"),
    (open) => open === 0,
    OUTCOME_SECONDS,
  )

  async function tokenOf(wallet: string): Promise<string> {
    const customer = traffic.customers.find(({ address }) => address === wallet)
    if (!customer) throw new Error(`${wallet} is no customer`)
    const token =
      sessions.get(wallet) ?? (await openSession({ ...entrance, plan: traffic.plan }, customer.wallet)).token
    sessions.set(wallet, token)
    return token
  }

  const again = await auditMoney(traffic.ledger, transfers)
  return [...problems, ...again.problems]
}

/** A merchant asks again for the outcome of a payment that the restored facilitator may not know. */
async function settleAgain(
  { nginx }: Deployment,
  traffic: Traffic,
  sales: Traffic['sales'],
): Promise<string[]> {
  const problems: string[] = []
  for (const { key, idempotencyKey, payment, end } of sales) {
    const headers = {
      'x-client-id': key.clientId,
      'x-client-token': key.token,
      'idempotency-key': idempotencyKey,
    }
    const { verdict } = await traffic.requests.ask(
      'settlement again',
      `${nginx.facilitatorUrl}/api/v1/settle`,
      {
        headers,
        body: payment.request,
        isRight: ({ status, body }) =>
          status === 200 &&
          (body['success'] === true
            ? body['transaction'] === end.transaction
            : body['errorReason'] === 'invalid_transaction_state'),
      },
    )
    if (verdict !== 'done')
      problems.push(`a settlement that was asked for again: ${traffic.sent.at(-1)?.answer}`)
  }
  const recipients = new Set(sales.map(({ payment }) => payment.request.paymentRequirements.payTo))
  for (const recipient of recipients) {
    const transfers = await traffic.chain.paidTo(recipient)
    if (new Set(transfers.map(({ id }) => id)).size !== transfers.length)
      problems.push(`a payment to ${recipient} has two transfers`)
  }
  return problems
}
