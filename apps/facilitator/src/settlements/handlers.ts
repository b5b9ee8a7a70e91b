import {
  Settlement,
  SETTLEMENT_PAGE,
  SettlementPath,
  SettlementsQuery,
  type SettlementAnswer,
  type SettlementPage,
} from '@tollgate/protocol'
import { ApiError, assertPageSize, parse, sendCsv, toCsv, wantsCsv } from '@tollgate/service'
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
      const { limit, cursor, ...query } = parse(SettlementsQuery, req.query)
      assertPageSize(req, limit, { json: SETTLEMENT_PAGE.max, csv: SETTLEMENT_PAGE.maxCsv })
      const filters = readFilters(query, { networks: networks.all, families })
      const after = cursor === undefined ? undefined : fromCursor(cursor)
      const rows = await settlements.page(merchant, filters, { after, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      const next = last && rows.length > limit ? toCursor(last) : null
      res.vary('Accept')
      if (wantsCsv(req)) {
        const text = toCsv(CSV_COLUMNS, shown.map(toSettlement))
        sendCsv(req, res, { name: 'settlements', text, next: next === null ? undefined : { cursor: next } })
        return
      }
      res.json({ data: { settlements: shown.map(toSettlement), next } } satisfies SettlementPage)
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

const CSV_COLUMNS = Object.keys(Settlement.shape) as (keyof Settlement)[]
