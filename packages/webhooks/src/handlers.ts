import {
  WebhookDeliveriesQuery,
  WebhookDeliveryPath,
  WebhookPath,
  WebhookReplayRequest,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { MAX_ENDPOINTS } from './endpoint-sql'
import {
  type Delivery,
  type Endpoint,
  type EndpointChange,
  type EndpointStore,
  type NewEndpoint,
} from './endpoint-store'
import { findTargetProblem } from './target-url'

/** How a service reads and shows what the handlers share. */
export type WebhookWire<Caller> = {
  /** Runs before anything is read or changed. Returns the owner of the endpoints that the caller may see and change. */
  authorize: (caller: Caller) => Promise<string>
  readNew: (body: unknown) => NewEndpoint
  readChange: (body: unknown) => EndpointChange
  showEndpoint: (endpoint: Endpoint) => object
  showPage: (deliveries: object[], next: string | null) => object
  /** Of members in camel case. */
  answer: (members: unknown) => unknown
}

export function createWebhookHandlers<Caller>(
  endpoints: EndpointStore,
  wire: WebhookWire<Caller>,
  { isProduction }: { isProduction: boolean },
) {
  const { authorize, showEndpoint, showPage, answer } = wire

  function assertTarget(url: string | undefined) {
    const problem = url === undefined ? undefined : findTargetProblem(url, isProduction)
    if (problem !== undefined) throw new ApiError('INVALID_REQUEST', `url: ${problem}`)
  }

  type Work = (req: Request, owner: string) => Promise<unknown>
  const handler =
    (work: Work, status = 200) =>
    async (req: Request, res: Response, caller: Caller) => {
      res.set('Cache-Control', 'no-store')
      const members = await work(req, await authorize(caller))
      res.status(status).json(answer(members))
    }

  const idOf = (req: Request) => parse(WebhookPath, req.params).id
  const pathOf = (req: Request) => {
    const { id, deliveryId } = parse(WebhookDeliveryPath, req.params)
    return [id, BigInt(deliveryId)] as const
  }

  return {
    create: handler(async (req, owner) => {
      const wanted = wire.readNew(req.body)
      assertTarget(wanted.url)
      const created = await endpoints.create(owner, wanted)
      if (!created)
        throw new ApiError(
          'CONFLICT',
          `There are ${MAX_ENDPOINTS} webhooks, which is the most; delete one first`,
        )
      return { ...showEndpoint(created), secret: created.secret }
    }, 201),

    list: handler(async (_req, owner) => (await endpoints.list(owner)).map(showEndpoint)),

    update: handler(async (req, owner) => {
      const change = wire.readChange(req.body)
      assertTarget(change.url)
      return showEndpoint(found(await endpoints.update(owner, idOf(req), change)))
    }),

    remove: handler(async (req, owner) => {
      const id = idOf(req)
      if (!(await endpoints.delete(owner, id))) throw unknownWebhook()
      return { deleted: id }
    }),

    rotateSecret: handler(async (req, owner) => {
      const rotated = found(await endpoints.rotateSecret(owner, idOf(req)))
      return { ...showEndpoint(rotated), secret: rotated.secret }
    }),

    test: handler(async (req, owner) => {
      const id = idOf(req)
      const { active } = found(await endpoints.find(owner, id))
      if (!active) throw new ApiError('CONFLICT', 'The webhook is not active; activate it first')
      return showDelivery(found(await endpoints.sendTest(owner, id)))
    }),

    deliveries: handler(async (req, owner) => {
      const { state = null, limit, cursor } = parse(WebhookDeliveriesQuery, req.query)
      const { id } = found(await endpoints.find(owner, idOf(req)))
      const before = cursor === undefined ? null : BigInt(cursor)
      const rows = await endpoints.listDeliveries(owner, id, { state, before, limit: limit + 1 })
      const page = rows.slice(0, limit)
      return showPage(page.map(showDelivery), rows.length > limit ? String(page.at(-1)?.id) : null)
    }),

    delivery: handler(async (req, owner) => {
      const { payload, log, ...delivery } = found(await endpoints.findDelivery(owner, ...pathOf(req)))
      return { ...showDelivery(delivery), payload, log }
    }),

    replay: handler(async (req, owner) => showDelivery(found(await endpoints.replay(owner, ...pathOf(req))))),

    replayRange: handler(async (req, owner) => {
      const { from, to, state = null } = parse(WebhookReplayRequest, req.body)
      const { id } = found(await endpoints.find(owner, idOf(req)))
      const range = { from: new Date(from), to: new Date(to ?? '9999-12-31T00:00:00Z'), state }
      const { replayed, until } = await endpoints.replayRange(owner, id, range)
      return { replayed, until: until?.toISOString() ?? null }
    }),
  }
}

const unknownWebhook = () =>
  new ApiError('NOT_FOUND', 'There is no such webhook or delivery; GET /webhooks lists yours')

function found<T>(value: T | undefined): T {
  if (value === undefined) throw unknownWebhook()
  return value
}

const showDelivery = ({ id, nextAttemptAt, createdAt, deliveredAt, ...delivery }: Delivery) => ({
  id: String(id),
  ...delivery,
  nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
  deliveredAt: deliveredAt?.toISOString() ?? null,
})
