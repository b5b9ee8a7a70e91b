import { ClientPath, ClientsQuery, CreateClientRequest, type ClientKey } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type User } from '../users/store'
import { MAX_LIVE_KEYS, type Client, type ClientStore } from './store'

const HOUR_MS = 3_600_000

export function createClientHandlers(clients: ClientStore, now: () => Date) {
  return {
    async create(req: Request, res: Response, user: User) {
      const {
        title,
        scope = [],
        ttl_hours: ttlHours,
        pay_to: payTo = [],
        max_fees_per_day: feeCap,
        max_payments_per_minute: maxPaymentsPerMinute = null,
      } = parse(CreateClientRequest, req.body)
      const createdAt = now()
      const expiresAt = ttlHours === undefined ? null : new Date(createdAt.getTime() + ttlHours * HOUR_MS)
      const caps = { maxFeesPerDay: feeCap === undefined ? null : BigInt(feeCap), maxPaymentsPerMinute }
      const newClient = { userId: user.id, title, scope, createdAt, expiresAt, payTo, ...caps }
      const created = await clients.create(newClient)
      if (!created)
        throw new ApiError(
          'CONFLICT',
          `You have ${MAX_LIVE_KEYS} live client keys, which is the most; delete those you no longer use`,
        )
      res.json({ data: { client: { ...toWire(created.client), token: created.token } } })
    },

    async list(req: Request, res: Response, user: User) {
      const { offset, limit } = parse(ClientsQuery, req.query)
      const found = await clients.list({ userId: user.isAdmin ? undefined : user.id, offset, limit })
      res.json({ data: found.map(toWire) })
    },

    async remove(req: Request<{ id: string }>, res: Response, user: User) {
      const { id } = parse(ClientPath, req.params)
      if (!(await clients.remove(id, user.isAdmin ? undefined : user.id, now())))
        throw new ApiError('NOT_FOUND', 'You have no such client key; GET /api/v1/clients lists yours')
      res.json({ data: { deleted: id } })
    },
  }
}

const toWire = ({
  clientId,
  title,
  scope,
  createdAt,
  expiresAt,
  payTo,
  maxFeesPerDay,
  maxPaymentsPerMinute,
}: Client): ClientKey => ({
  clientId,
  title,
  scope: scope.join(','),
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt?.toISOString() ?? null,
  ...(payTo.length > 0 ? { payTo: [...payTo] } : {}),
  ...(maxFeesPerDay === null ? {} : { maxFeesPerDay: maxFeesPerDay.toString() }),
  ...(maxPaymentsPerMinute === null ? {} : { maxPaymentsPerMinute }),
})
