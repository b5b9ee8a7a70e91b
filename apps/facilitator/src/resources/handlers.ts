import { ChainUnavailable } from '@tollgate/chains'
import {
  DiscoveryMerchantQuery,
  DiscoveryQuery,
  DiscoveryRootQuery,
  DiscoverySearchQuery,
  RecordPath,
  ResourceRegistration,
  ResourcesQuery,
  type RegisteredResource,
  type ResourcePage,
} from '@tollgate/protocol'
import { ApiError, parse, rawMember, type Budget, type Logger } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Networks } from '../networks/networks'
import { type User } from '../users/store'
import { readAccepts } from './accepts'
import { createDiscovery } from './discovery'
import { hasExactNumbers } from './numbers'
import { originOf, type OriginStore, type OwnershipState } from './origins'
import { MAX_RESOURCES, type Resource, type ResourceStore } from './store'

export function createResourceHandlers(parts: {
  resources: ResourceStore
  origins: OriginStore
  mayCheck: Budget
  networks: Networks
  logger: Logger
  now: () => Date
}) {
  const { resources, origins, mayCheck, networks, logger, now } = parts
  const discovery = createDiscovery({ store: resources, origins, networks, now })

  async function registrationIn(req: Request): Promise<ResourceRegistration> {
    const registration = parse(ResourceRegistration, req.body)
    if (!hasExactNumbers(rawMember(req, 'metadata') ?? ''))
      throw new ApiError(
        'INVALID_REQUEST',
        'metadata: has a number of more digits than JSON readers agree on; send it as a string',
      )
    return {
      ...registration,
      accepts: await readAccepts(registration.accepts, networks).catch(toUnavailable),
    }
  }

  /** Resources are never deleted, so one that exists but was not changed belongs to another user. */
  async function refusalOf(id: number): Promise<ApiError> {
    return (await resources.exists(id))
      ? new ApiError(
          'FORBIDDEN',
          'This resource belongs to another user; GET /api/v1/users/resources lists yours',
        )
      : new ApiError('NOT_FOUND', 'There is no such resource; GET /api/v1/users/resources lists yours')
  }

  async function page(req: Request, userId?: number): Promise<ResourcePage> {
    const { offset, limit } = parse(ResourcesQuery, req.query)
    const found = await resources.list({ offset, limit, ...(userId === undefined ? {} : { userId }) })
    const stateOf = await statesOf(found)
    return {
      data: { resources: found.map((resource) => toWire(resource, stateOf(resource))), offset, limit },
    }
  }

  async function statesOf(found: readonly Resource[]) {
    const wanted = new Map<string, { userId: number; origin: string }>()
    for (const { userId, resource } of found) {
      const origin = originOf(resource)
      if (origin !== undefined) wanted.set(keyOf(userId, origin), { userId, origin })
    }
    const states = await origins.statesOf([...wanted.values()], now())
    const known = new Map(states.map((state) => [keyOf(state.userId, state.origin), state]))
    return ({ userId, resource }: Resource) => known.get(keyOf(userId, originOf(resource)))
  }

  /**
   * Never rejects, because the resource is already registered. Without a check its state is unchanged, and a
   * PUT requests one again.
   */
  async function requestCheck(userId: number, { resource }: ResourceRegistration) {
    const origin = originOf(resource)
    if (origin === undefined || !(await mayCheck(String(userId)))) return
    await origins.request({ userId, origin }, now()).catch((error: unknown) => {
      logger.warn('ownership check not requested', { userId, error })
    })
  }

  return {
    async create(req: Request, res: Response, user: User) {
      const registration = await registrationIn(req)
      const id = await resources.create(user.id, registration, now())
      if (id === undefined)
        throw new ApiError(
          'CONFLICT',
          `You have ${MAX_RESOURCES} resources, and more are not kept; change one that you need no longer, with PUT /api/v1/resources/{id}`,
        )
      await requestCheck(user.id, registration)
      res.status(201).json({ data: { status: 'created', id } })
    },

    async update(req: Request<{ id: string }>, res: Response, user: User) {
      const { id } = parse(RecordPath, req.params)
      const registration = await registrationIn(req)
      const updated = await resources.update(id, user.id, registration, now())
      if (!updated) throw await refusalOf(id)
      await requestCheck(updated.userId, registration)
      res.json({ data: { updated: id } })
    },

    async own(req: Request, res: Response, user: User) {
      res.json(await page(req, user.id))
    },

    async all(req: Request, res: Response) {
      res.json(await page(req))
    },

    async discovery(req: Request, res: Response) {
      res.json(await discovery.resources(1, parse(DiscoveryQuery, req.query)))
    },

    async discoveryV2(req: Request, res: Response) {
      res.json(await discovery.resources(2, parse(DiscoveryQuery, req.query)))
    },

    async discoveryOfAnyVersion(req: Request, res: Response) {
      const { x402Version, ...query } = parse(DiscoveryRootQuery, req.query)
      res.json(await discovery.resources(x402Version === '1' ? 1 : 2, query))
    },

    async search(req: Request, res: Response) {
      res.json(await discovery.search(parse(DiscoverySearchQuery, req.query)))
    },

    async merchant(req: Request, res: Response) {
      res.json(await discovery.merchant(parse(DiscoveryMerchantQuery, req.query)))
    },
  }
}

function toUnavailable(cause: unknown): never {
  if (!(cause instanceof ChainUnavailable)) throw cause
  throw new ApiError(
    'UNAVAILABLE',
    'An asset’s network has not been reached yet; nothing was registered, try again in a moment',
    { retryAfterSeconds: 3, cause },
  )
}

const keyOf = (userId: number, origin: string | undefined) => `${userId} ${origin}`

function toWire(record: Resource, state: OwnershipState | undefined): RegisteredResource {
  const { id, resource, type, x402Version, accepts, metadata, createdAt, updatedAt, owner } = record
  const verifiedAt = state?.verifiedAt?.toISOString() ?? null
  return {
    id,
    resource,
    type,
    x402Version,
    accepts,
    metadata,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    owner,
    verified: verifiedAt !== null,
    verifiedAt,
    ownership: state?.result ?? 'unchecked',
  }
}
