import { ChainUnavailable } from '@tollgate/chains'
import {
  DiscoveryQuery,
  RecordPath,
  ResourceRegistration,
  ResourcesQuery,
  type RegisteredResource,
  type ResourcePage,
} from '@tollgate/protocol'
import { ApiError, parse, rawMember } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Networks } from '../networks/networks'
import { type User } from '../users/store'
import { readAccepts } from './accepts'
import { createDiscovery } from './discovery'
import { hasExactNumbers } from './numbers'
import { MAX_RESOURCES, type Resource, type ResourceStore } from './store'

export function createResourceHandlers(parts: {
  resources: ResourceStore
  networks: Networks
  now: () => Date
}) {
  const { resources, networks, now } = parts
  const discovery = createDiscovery(resources, networks)

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

  /** No resource is ever deleted, so what is there now is what could not be changed. */
  async function refusalOf(id: number): Promise<ApiError> {
    return (await resources.exists(id))
      ? new ApiError('FORBIDDEN', 'This resource is somebody else’s; GET /api/v1/users/resources lists yours')
      : new ApiError('NOT_FOUND', 'There is no such resource; GET /api/v1/users/resources lists yours')
  }

  async function page(req: Request, userId?: number): Promise<ResourcePage> {
    const { offset, limit } = parse(ResourcesQuery, req.query)
    const found = await resources.list({ offset, limit, ...(userId === undefined ? {} : { userId }) })
    return { data: { resources: found.map(toWire), offset, limit } }
  }

  return {
    async create(req: Request, res: Response, user: User) {
      const id = await resources.create(user.id, await registrationIn(req), now())
      if (id === undefined)
        throw new ApiError(
          'CONFLICT',
          `You have ${MAX_RESOURCES} resources, and more are not kept; change one that you need no longer, with PUT /api/v1/resources/{id}`,
        )
      res.status(201).json({ data: { status: 'created', id } })
    },

    async update(req: Request<{ id: string }>, res: Response, user: User) {
      const { id } = parse(RecordPath, req.params)
      const isUpdated = await resources.update(id, user.id, await registrationIn(req), now())
      if (!isUpdated) throw await refusalOf(id)
      res.json({ data: { updated: id } })
    },

    async own(req: Request, res: Response, user: User) {
      res.json(await page(req, user.id))
    },

    async all(req: Request, res: Response) {
      res.json(await page(req))
    },

    async discovery(req: Request, res: Response) {
      res.json(await discovery.v1(parse(DiscoveryQuery, req.query)))
    },

    async discoveryV2(req: Request, res: Response) {
      res.json(await discovery.v2(parse(DiscoveryQuery, req.query)))
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

const toWire = ({ createdAt, updatedAt, ...resource }: Resource): RegisteredResource => ({
  ...resource,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
})
