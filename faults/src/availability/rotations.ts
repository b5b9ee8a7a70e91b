import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '@tollgate/e2e/testing/paying'
import { developmentSigners, fundWallet } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { playRounds } from '../environment'
import { type Row, type Scenario, type Stage } from '../scenario'
import { startDeployment, type Deployment } from './deployment'
import { countRequests, DESCRIPTION, startTraffic, type Traffic } from './traffic'

const HELP = `Two gateways and two facilitators behind nginx, under load: ${DESCRIPTION}.
  Each secret is rotated as in docs/operate/rotate.md, which says what differs, while replicas are replaced as by rolling-restarts: the JWT secrets
  of both services, the gateway’s key of offers, the operator’s token, the gateway’s client key, and a signer’s key that has
  transactions pending. No request may fail, and every payment must be settled once and credited once. Needs nginx.`

const newSecret = () => randomBytes(32).toString('hex')
/** Between two steps: longer than clients take to use what the step made. */
const SETTLE_MS = 2_000
const DRAINED_WITHIN_SECONDS = 60

type Scene = { deployment: Deployment; traffic: Traffic }

type Rotation = { part: string; fault: string; where: string; run: (scene: Scene) => Promise<string[]> }

/** First the next secret is accepted, then it is used, and at last the old one is accepted no longer. */
async function rotateInPairs(
  { deployment }: Scene,
  service: 'gateway' | 'facilitator',
  name: string,
  { old, afterUse }: { old: string; afterUse?: (next: string) => void },
) {
  const next = newSecret()
  const roll = (first: string, second: string) =>
    deployment.roll(service, { environment: { [name]: first, [`${name}_PREVIOUS`]: second } })
  await roll(old, next)
  await roll(next, old)
  afterUse?.(next)
  await delay(SETTLE_MS)
  return { next, drop: () => roll(next, '') }
}

const rotations: readonly Rotation[] = [
  {
    part: 'gateway-jwt',
    where: 'gateway',
    fault: 'JWT_SECRET of the gateway is rotated',
    // The old secret stays accepted: its tokens live for an hour, longer than this run.
    async run(scene) {
      await rotateInPairs(scene, 'gateway', 'JWT_SECRET', { old: scene.deployment.world.secrets.gatewayJwt })
      return []
    },
  },
  {
    part: 'offers',
    where: 'gateway',
    fault: 'OFFER_SIGNING_KEY is rotated',
    async run(scene) {
      const old = scene.deployment.world.secrets.gatewayOffers ?? ''
      await rotateInPairs(scene, 'gateway', 'OFFER_SIGNING_KEY', { old })
      return []
    },
  },
  {
    part: 'facilitator-jwt',
    where: 'facilitator',
    fault: 'JWT_SECRET of the facilitator is rotated',
    async run(scene) {
      const old = scene.deployment.world.secrets.facilitatorJwt
      await rotateInPairs(scene, 'facilitator', 'JWT_SECRET', { old })
      return []
    },
  },
  {
    part: 'admin-token',
    where: 'facilitator',
    fault: 'ADMIN_TOKEN is rotated, and the old one is accepted no longer',
    async run(scene) {
      const { adminToken: old } = scene.deployment.world.secrets
      const { drop } = await rotateInPairs(scene, 'facilitator', 'ADMIN_TOKEN', {
        old,
        afterUse: (next) => (scene.traffic.secrets.adminToken = next),
      })
      await drop()
      const { facilitatorUrl: url } = scene.deployment.nginx
      const answer = await fetch(`${url}/admin/overview`, { headers: { authorization: `Bearer ${old}` } })
      return answer.status === 401 ? [] : [`the old admin token was answered ${answer.status}`]
    },
  },
  {
    part: 'client-key',
    where: 'gateway',
    fault: 'The gateway’s client key is replaced by another of the same user, and the old one is deleted',
    async run({ deployment }) {
      const { world } = deployment
      const account = openOperatorAccount(deployment)
      const next = await account.newKey()
      await deployment.roll('gateway', {
        environment: { FACILITATOR_CLIENT_ID: next.clientId, FACILITATOR_CLIENT_TOKEN: next.token },
      })
      await account.remove(world.clientKey.clientId)
      const headers = { 'x-client-id': world.clientKey.clientId, 'x-client-token': world.clientKey.token }
      const { facilitatorUrl: url } = deployment.nginx
      await until(
        async () => (await fetch(`${url}/api/v1/supported`, { headers })).status,
        (status) => status === 401,
      )
      await delay(SETTLE_MS)
      return []
    },
  },
  {
    part: 'signer',
    where: 'facilitator',
    fault: 'A signer’s key is replaced while its transactions are pending',
    run: rotateSigner,
  },
]

async function rotateSigner({ deployment, traffic }: Scene): Promise<string[]> {
  const { world } = deployment
  const [removed, kept] = developmentSigners
  if (!removed || !kept) throw new Error('There are no two signers')
  const added = Wallet.createRandom()
  await fundWallet(world.infrastructure.rpcUrl, added.address, { usdc: 0n, wei: 10n ** 18n })
  const roll = (...keys: string[]) =>
    deployment.roll('facilitator', { environment: { BASE_SEPOLIA_SIGNER_KEYS: keys.join(',') } })
  const all = [kept.privateKey, added.privateKey]
  await roll(removed.privateKey, ...all)
  traffic.useSigner(added.address)

  // Transactions of the removed signer are in flight while its key goes.
  await traffic.chain.setPace('by-interval')
  await roll(...all)
  await traffic.chain.setPace('at-once')
  const pending = async () =>
    Number(
      (
        await traffic.settlements.rows<{ count: bigint }>(
          "SELECT count(*) FROM transactions WHERE lower(signer) = lower($1) AND status = 'signed'",
          [removed.address],
        )
      )[0]?.count,
    )
  await until(pending, (count) => count === 0, DRAINED_WITHIN_SECONDS)
  const used = await traffic.chain.transactionsOf(added.address)
  return used > 0n ? [] : ['the added signer sent nothing']
}

/** The account that owns the gateway’s client key. */
function openOperatorAccount({ nginx, world: { secrets } }: Deployment) {
  const api = `${nginx.facilitatorUrl}/api/v1`
  const send = async (method: string, path: string, body?: object, token?: string) => {
    const answer = await fetch(`${api}${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}`)
    return ((await answer.json()) as { data: Record<string, unknown> }).data
  }
  const token = async () => String((await send('POST', '/login', secrets.operator))['access_token'])
  return {
    async newKey() {
      const body = { title: 'Gateway, next key', scope: 'verify,settle,supported,settlements' }
      const { client } = await send('POST', '/clients', body, await token())
      return client as { clientId: string; token: string }
    },
    remove: async (clientId: string) =>
      void (await send('DELETE', `/clients/${clientId}`, undefined, await token())),
  }
}

export const rotationsUnderLoad: Scenario = {
  name: 'rotations',
  help: HELP,
  rounds: 1,
  parts: rotations.map(({ part }) => part),
  async run(stage) {
    const chosen = rotations.filter(({ part }) => stage.parts?.includes(part) ?? true)
    const played: Played[] = []
    const problems = await playRounds(stage, () => playAll(stage, chosen, played))
    return { problems, rows: chosen.map((rotation) => rowOf(rotation, played)) }
  },
}

type Played = { rotation: Rotation; requests: number; pending: number; payments: number }

/** One after the other, from the secrets of a new world. */
async function playAll(stage: Stage, chosen: readonly Rotation[], played: Played[]): Promise<string[]> {
  const closing: (() => unknown)[] = []
  const own = { ...stage, closeLater: (close: () => unknown) => void closing.push(close) }
  stage.closeLater(() => closeAll(closing))
  try {
    const deployment = await startDeployment(own)
    const traffic = await startTraffic(own, deployment)
    const problems: string[] = []
    for (const rotation of chosen) {
      stage.signal.throwIfAborted()
      const before = { sent: traffic.sent.length, paid: await traffic.paid() }
      await delay(SETTLE_MS)
      problems.push(...(await rotation.run({ deployment, traffic })))
      await delay(SETTLE_MS)
      const { all, pending, away, failed, examples } = countRequests(traffic.sent.slice(before.sent))
      const payments = (await traffic.paid()) - before.paid
      if (failed + away > 0)
        problems.push(`${rotation.part}: ${failed + away} of ${all} requests failed: ${examples.join('; ')}`)
      stage.say(`· ${rotation.part}: ${all} requests, ${pending} pending, ${failed + away} failed`)
      played.push({ rotation, requests: all, pending, payments })
    }
    await traffic.stop()
    return [...problems, ...deployment.problems, ...(await traffic.audit()).problems]
  } finally {
    await closeAll(closing)
  }
}

function rowOf(rotation: Rotation, all: readonly Played[]): Row {
  const played = all.filter((one) => one.rotation === rotation)
  const sum = (of: (one: Played) => number) => played.reduce((total, one) => total + of(one), 0)
  return {
    fault: rotation.fault,
    where: rotation.where,
    times: played.length,
    payments: sum(({ payments }) => payments),
    outcome: 'No request fails. Every payment is settled by one transfer, and credited once.',
    counted: `${sum(({ requests }) => requests)} requests, 0 failed, ${sum(({ pending }) => pending)} told that their payment is pending`,
  }
}

async function closeAll(closing: (() => unknown)[]) {
  for (let close = closing.pop(); close; close = closing.pop()) await close()
}
