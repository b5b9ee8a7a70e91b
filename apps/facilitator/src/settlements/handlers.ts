import {
  Settlement,
  SETTLEMENT_PAGE,
  SettlementPath,
  SettlementsQuery,
  type SettlementAnswer,
  type SettlementPage,
} from '@tollgate/protocol'
import { ApiError, assertPageSize, parse, toCsv, type CsvPage } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Families } from '../networks/network'
import { type Networks } from '../networks/networks'
import { fromCursor, toCursor } from './cursor'
import { hashSpellings, readFilters, type Filters } from './filters'
import { timelineOf, transactionsOf } from './history'
import { type Merchant } from './merchant-guard'
import { toSettlement, type SettlementRow } from './settlement'
import { type MerchantSettlementStore } from './store'

export function createSettlementHandlers(parts: {
  settlements: MerchantSettlementStore
  networks: Networks
  families: Families
}) {
  const { settlements, networks, families } = parts

  function readQuery(req: Request) {
    const { limit, cursor, ...query } = parse(SettlementsQuery, req.query)
    assertPageSize(req, limit, { json: SETTLEMENT_PAGE.max, csv: SETTLEMENT_PAGE.maxCsv })
    const filters = readFilters(query, { networks: networks.all, families })
    return { filters, limit, after: cursor === undefined ? undefined : fromCursor(cursor) }
  }

  /** An id comes first, and a hash before a payment identifier, which payers choose. */
  async function find(merchant: Merchant, text: string): Promise<SettlementRow> {
    const references: [Filters, filter: string][] = [
      ...(/^[0-9]{1,18}$/.test(text) ? [[{ id: BigInt(text) }, 'id'] as [Filters, string]] : []),
      [{ hashes: hashSpellings(text) }, 'transaction'],
      [{ paymentIdentifier: text }, 'paymentIdentifier'],
    ]
    for (const [filters, filter] of references) {
      const [found, other] = await settlements.page(merchant, filters, { limit: 2 })
      if (other)
        throw new ApiError(
          'INVALID_REQUEST',
          `id: several settlements have it; GET /api/v1/settlements?${filter}=… lists them`,
        )
      if (found) return found
    }
    throw new ApiError('NOT_FOUND', 'You have no such settlement; GET /api/v1/settlements lists yours')
  }

  async function confirmationsOf({ network: name, blockNumber }: SettlementRow) {
    const network = networks.find(name)
    const head = network && blockNumber !== null ? await networks.newestBlock(network) : undefined
    return {
      confirmations:
        head === undefined || blockNumber === null ? null : Math.max(0, Number(head - blockNumber) + 1),
      requiredConfirmations: network?.confirmations ?? null,
    }
  }

  return {
    async list(req: Request, res: Response, merchant: Merchant) {
      const { filters, after, limit } = readQuery(req)
      const rows = await settlements.page(merchant, filters, { after, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      const next = last && rows.length > limit ? toCursor(last) : null
      res.vary('Accept')
      res.json({ data: { settlements: shown.map(toSettlement), next } } satisfies SettlementPage)
    },

    /** Ends early, with a link to the next rows, once it is long: an unread file is held in memory. */
    async readCsv(req: Request, res: Response, merchant: Merchant): Promise<CsvPage> {
      const { filters, after, limit } = readQuery(req)
      const header = toCsv(CSV_COLUMNS, [])
      let [text, position, missing, hasMore] = [header, after, limit, true]
      while (hasMore && missing > 0 && text.length < MAX_CSV_LENGTH) {
        const step = Math.min(ROWS_PER_STEP, missing)
        const rows = await settlements.page(merchant, filters, { after: position, limit: step + 1 })
        const shown = rows.slice(0, step)
        text += toCsv(CSV_COLUMNS, shown.map(toSettlement)).slice(header.length)
        missing -= shown.length
        position = shown.at(-1) ?? position
        hasMore = rows.length > step
      }
      res.vary('Accept')
      const next = hasMore && position ? { cursor: toCursor(position) } : undefined
      return { name: 'settlements', text, next }
    },

    async one(req: Request, res: Response, merchant: Merchant) {
      const { id } = parse(SettlementPath, req.params)
      const row = await find(merchant, id)
      const [versions, confirmations] = await Promise.all([
        settlements.versions(row.id),
        confirmationsOf(row),
      ])
      res.json({
        data: {
          ...toSettlement(row),
          ...confirmations,
          transactions: transactionsOf(row, versions),
          timeline: timelineOf(row, versions),
        },
      } satisfies SettlementAnswer)
    },
  }
}

/** Keeps each step of an export to some milliseconds. */
const ROWS_PER_STEP = 500
const MAX_CSV_LENGTH = 4_000_000
const CSV_COLUMNS = Object.keys(Settlement.shape) as (keyof Settlement)[]
