import { CreateClientRequest, type ClientKey } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { z } from 'zod'
import { type User } from '../users/store'
import { type Client, type ClientStore } from './store'

const MAX_PAGE = 100
const HOUR_MS = 3_600_000

const NewClient = CreateClientRequest.extend({
  title: CreateClientRequest.shape.title.regex(/^\P{Cc}*$/u, 'must not have control characters'),
})

const digits = (max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'expected a whole number, 0 or more')
    .transform(Number)
    .refine((value) => value <= max, `expected at most ${max}`)

const Page = z.object({ offset: digits(1e9).prefault('0'), limit: digits(MAX_PAGE).prefault('20') })

export function createClientHandlers(clients: ClientStore, now: () => Date) {
  return {
    async create(req: Request, res: Response, user: User) {
      const { title, scope = [], ttl_hours: ttlHours } = parse(NewClient, req.body)
      const createdAt = now()
      const expiresAt = ttlHours === undefined ? null : new Date(createdAt.getTime() + ttlHours * HOUR_MS)
      const { client, token } = await clients.create({ userId: user.id, title, scope, createdAt, expiresAt })
      res.json({ data: { client: { ...toWire(client), token } } })
    },

    async list(req: Request, res: Response, user: User) {
      const { offset, limit } = parse(Page, req.query)
      const found = await clients.list({ userId: user.isAdmin ? undefined : user.id, offset, limit })
      res.json({ data: found.map(toWire) })
    },

    async remove(req: Request<{ id: string }>, res: Response, user: User) {
      const { id } = req.params
      const isGone =
        /^[\w-]{1,64}$/.test(id) && (await clients.remove(id, user.isAdmin ? undefined : user.id, now()))
      if (!isGone)
        throw new ApiError('NOT_FOUND', 'You have no such client key; GET /api/v1/clients lists yours')
      res.json({ data: { deleted: id } })
    },
  }
}

const toWire = ({ clientId, title, scope, createdAt, expiresAt }: Client): ClientKey => ({
  clientId,
  title,
  scope: scope.join(','),
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt?.toISOString() ?? null,
})
