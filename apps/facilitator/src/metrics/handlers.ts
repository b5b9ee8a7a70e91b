import { type Request, type Response } from 'express'
import { type User } from '../users/store'
import { ALL_USERS } from './metrics-buffer'
import { readRange, type Range, type Span } from './range'
import { summarize } from './settlements'
import { noRequests, type MetricsStore, type Periods } from './store'

type Read<Metrics> = (userId: number, range: Range, span: Span) => Promise<Periods<Metrics>>

export function createMetricsHandlers(store: MetricsStore, now: () => Date) {
  function createViews<Metrics extends object>(read: Read<Metrics>, empty: () => Metrics) {
    const periods = (req: Request, user: User, span: Span) =>
      read(user.isAdmin ? ALL_USERS : user.id, readRange(req.query, span, now()), span)

    return {
      async daily(req: Request, res: Response, user: User) {
        const rows = await periods(req, user, 'day')
        res.json({ data: rows.map(({ period, metrics }) => ({ day: period, ...metrics })) })
      },
      async monthly(req: Request, res: Response, user: User) {
        const rows = await periods(req, user, 'month')
        res.json({ data: rows.map(({ period, metrics }) => ({ month: period, ...metrics })) })
      },
      async summary(req: Request, res: Response, user: User) {
        const [all] = await periods(req, user, 'all')
        res.json({ data: all?.metrics ?? empty() })
      },
    }
  }
  return {
    http: createViews(store.http, noRequests),
    settlements: createViews(store.settlements, () => summarize([], [])),
  }
}
