import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Overrides, type Replica as Difference } from '@tollgate/devnet'
import { until } from '@tollgate/e2e/testing/paying'
import { startWorld, type World } from '@tollgate/e2e/testing/world'
import { type Stage } from '../scenario'
import { startNginx, type Retries } from './nginx'

export type Service = 'gateway' | 'facilitator'

/** `at-once`: as soon as new connections go elsewhere, so that requests are under way and connections open. */
export type Stop = 'after-pre-stop' | 'at-once'

type Replica = World['gateway'] & { name: string }

export type Deployment = Awaited<ReturnType<typeof startDeployment>>

/** As the manifests have it. */
const PRE_STOP_MS = 5_000
/** As the manifests have it, without the time of preStop. */
const STOP_SECONDS = 295
/** What services log about a stop that was not in order. */
const DISORDERLY = ['shutdown timed out', 'close failed', 'requests cut off']
/** When the proxies learn that a pod is stopping, within the time of preStop. */
const ENDPOINT_REMOVAL_MS = 1_000
/** nginx sends what it accepted before a change to the replicas before it. */
const ACCEPTED_MS = 250
const READY_SECONDS = 60

/**
 * A world with two gateways and two facilitators behind nginx, and rolling updates as Kubernetes does them: a new replica first, and
 * traffic for it once it is ready; then one old replica loses its traffic, gets SIGTERM after its preStop, and must exit with 0.
 */
export async function startDeployment(
  { signal, closeLater }: Pick<Stage, 'signal' | 'closeLater'>,
  { retries = 'none', overrides = {} }: { retries?: Retries; overrides?: Overrides } = {},
) {
  const nginx = await startNginx(retries)
  closeLater(() => nginx.stop())
  const { hostname, port } = new URL(nginx.gatewayUrl)
  const environments = {
    gateway: {
      PUBLIC_URL: nginx.gatewayUrl,
      FACILITATOR_URL: `${nginx.serviceUrl}/api/v1`,
      SIGN_IN_DOMAINS: `Tollgate,${hostname}:${port}`,
      TRUSTED_PROXIES: '1',
    },
    facilitator: { PUBLIC_URL: nginx.facilitatorUrl, TRUSTED_PROXIES: '1' },
  }
  const starting = startWorld({
    signal,
    overrides: {
      ...overrides,
      environment: (name) => ({
        ...environments[serviceOf(name)],
        ...overrides.environment?.(name),
      }),
    },
  })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const world = await starting

  const replicas: Record<Service, Replica[]> = {
    gateway: [{ ...world.gateway, name: 'gateway' }],
    facilitator: [{ ...world.facilitator, name: 'facilitator' }],
  }
  const started = { gateway: 1, facilitator: 1 }
  const changes: Record<Service, Difference> = { gateway: {}, facilitator: {} }
  const problems: string[] = []
  /** nginx reloads one configuration at a time. */
  let reloading = Promise.resolve()

  function route(): Promise<void> {
    const hosts = (service: Service) => replicas[service].map(({ url }) => new URL(url).host)
    reloading = reloading.then(() =>
      nginx.use({ gateway: hosts('gateway'), facilitator: hosts('facilitator') }),
    )
    return reloading
  }

  async function add(service: Service): Promise<void> {
    const start = service === 'gateway' ? world.addGateway : world.addFacilitator
    const name = `${service}-${++started[service]}`
    const replica = { ...(await start(changes[service])), name }
    await until(
      async () => (await fetch(`${replica.url}/ready`)).status,
      (status) => status === 200,
      READY_SECONDS,
      50,
    )
    replicas[service].push(replica)
    await route()
  }

  async function removeOldest(service: Service, stop: Stop): Promise<void> {
    const replica = replicas[service].shift()
    if (!replica) throw new Error(`There is no ${service} to stop`)
    if (stop === 'at-once') {
      await route()
      await delay(ACCEPTED_MS)
    } else {
      const preStop = delay(PRE_STOP_MS)
      await delay(ENDPOINT_REMOVAL_MS)
      await route()
      await preStop
    }
    const { code, signal: killedBy } = await replica.stop(STOP_SECONDS)
    const log = readFileSync(world.log(replica.name), 'utf8')
    const found = DISORDERLY.filter((message) => log.includes(message))
    if (code !== 0 || found.length > 0)
      problems.push(
        `${replica.name} did not stop in order: ${[killedBy ?? `code ${String(code)}`, ...found].join(', ')}`,
      )
  }

  await Promise.all([add('gateway'), add('facilitator')])

  return {
    world,
    nginx,
    replicas: replicas as Readonly<Record<Service, readonly Replica[]>>,
    entrance: { gateway: { url: nginx.gatewayUrl }, serviceName: world.serviceName },
    /** Of the stops so far. */
    problems: problems as readonly string[],

    /** Replaces both replicas one after the other. A change stays for later ones. */
    async roll(service: Service, change: Difference = {}, stop: Stop = 'after-pre-stop') {
      const { root, environment } = { ...changes[service], ...change }
      changes[service] = {
        ...(root === undefined ? {} : { root }),
        environment: { ...changes[service].environment, ...environment },
      }
      for (let left = replicas[service].length; left > 0; left--) {
        signal.throwIfAborted()
        await add(service)
        await removeOldest(service, stop)
      }
    },

    async stopAll() {
      const all = [...replicas.gateway.splice(0), ...replicas.facilitator.splice(0)]
      await route()
      for (const replica of all) await replica.stop(STOP_SECONDS)
    },

    /** Two of each. */
    async startAll() {
      await Promise.all([add('gateway'), add('facilitator')])
      await Promise.all([add('gateway'), add('facilitator')])
    },
  }
}

const serviceOf = (name: string): Service => (name.startsWith('gateway') ? 'gateway' : 'facilitator')
