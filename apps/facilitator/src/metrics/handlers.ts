import { type Request, type Response } from 'express'
import { type User } from '../users/store'
import { EVERYBODY } from './counts'
import { readRange, type Range, type Span } from './range'
import { summarize } from './settlements'
import { noRequests, type MetricsStore, type Periods } from './store'

type Read<Metrics> = (userId: number, range: Range, span: Span) => Promise<Periods<Metrics>>

/** Users are told of their own requests and settlements, admins of everybody's. */
export function createMetricsHandlers(store: MetricsStore, now: () => Date) {
  function views<Metrics extends object>(read: Read<Metrics>, nothing: () => Metrics) {
    const periods = (req: Request, user: User, span: Span) =>
      read(user.isAdmin ? EVERYBODY : user.id, readRange(req.query, span, now()), span)

    return {
      async daily(req: Request, res: Response, user: User) {
        const found = await periods(req, user, 'day')
        res.json({ data: found.map(({ period, metrics }) => ({ day: period, ...metrics })) })
      },
      async monthly(req: Request, res: Response, user: User) {
        const found = await periods(req, user, 'month')
        res.json({ data: found.map(({ period, metrics }) => ({ month: period, ...metrics })) })
      },
      async summary(req: Request, res: Response, user: User) {
        const [all] = await periods(req, user, 'all')
        res.json({ data: all?.metrics ?? nothing() })
      },
    }
  }
  return {
    http: views(store.http, noRequests),
    settlements: views(store.settlements, () => summarize([], [])),
  }
}
