import {
  OperatorSettlementPath,
  OperatorSettlementsQuery,
  type OperatorSettlement,
  type OperatorSettlementDetail,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Families } from '../../networks/network'
import { type Networks } from '../../networks/networks'
import { readFilters } from '../../settlements/filters'
import { NEXT_STEPS_RUNBOOK, nextStepOf } from '../settlements/next-step'
import { type OperatorStore } from '../settlements/operator-settlement-store'
import { retryOutcome } from '../settlements/retry-outcome'
import { type SettlementDetail } from '../settlements/settlement-detail'
import { type PagedSettlement, type SettlementPages } from '../settlements/settlement-pages'
import { type FoundSettlement, type SettlementSearch } from '../settlements/settlement-search'
import { decodeCursor, encodeCursor } from './cursor'

export function createOperatorSettlementHandlers(parts: {
  pages: SettlementPages
  search: SettlementSearch
  settlements: OperatorStore
  networks: Pick<Networks, 'all'>
  families: Families
}) {
  const { pages, search, settlements, networks, families } = parts

  async function find(id: bigint): Promise<SettlementDetail> {
    const found = await settlements.one(id)
    if (found) return found
    throw new ApiError(
      'NOT_FOUND',
      'There is no settlement of this id; GET /admin/settlements?state=any lists all',
    )
  }

  async function readPage(query: OperatorSettlementsQuery) {
    const { state = isSearch(query) ? 'any' : 'open', network, limit, cursor } = query
    if (state === 'any' || state === 'settled' || state === 'failed') return readFound(state, query)
    if (isSearch(query))
      throw new ApiError('INVALID_REQUEST', 'state: only settled, failed and any can be searched')
    const filter = { network, limit }
    if (state === 'reversed-final') {
      const [before] = cursor === undefined ? [] : decodeCursor(cursor, 1)
      const { found, hasMore } = await pages.reversedFinal(filter, before)
      return { found, next: hasMore ? nextOf(found, ({ id }) => encodeCursor(id)) : null }
    }
    const [time, id] = cursor === undefined ? [] : decodeCursor(cursor, 2)
    const after =
      time === undefined || id === undefined ? undefined : { createdAt: new Date(Number(time)), id }
    const isStuck = state === 'stuck'
    const only = state === 'open' || isStuck ? undefined : state
    const { found, hasMore } = await pages.open({ ...filter, state: only, isStuck }, after)
    const key = ({ createdAt, id: last }: PagedSettlement) => encodeCursor(createdAt.getTime(), last)
    return { found, next: hasMore ? nextOf(found, key) : null }
  }

  /** Asks for one more than a page has, to learn whether another follows. */
  async function readFound(
    state: 'any' | 'settled' | 'failed',
    { network, transaction, payer, from, to, endedWithinHours, limit, cursor }: OperatorSettlementsQuery,
  ) {
    const filters = readFilters(
      { network, transaction, payer, from, to, ...(state === 'any' ? {} : { state }) },
      { networks: networks.all, families },
    )
    const [time, id] = cursor === undefined ? [] : decodeCursor(cursor, 2)
    const after = time === undefined || id === undefined ? undefined : { at: new Date(Number(time)), id }
    const position = { after, limit: limit + 1 }
    const ids =
      endedWithinHours === undefined
        ? await search.claimed(filters, position)
        : await search.ended(filters, endedWithinHours, position)
    const shown = ids.slice(0, limit)
    const keyOf = (last: FoundSettlement) => encodeCursor(last.at.getTime(), last.id)
    return {
      found: await pages.named(shown.map((one) => one.id)),
      next: ids.length > limit ? nextOf(shown, keyOf) : null,
    }
  }

  return {
    async list(req: Request, res: Response) {
      const { found, next } = await readPage(parse(OperatorSettlementsQuery, req.query))
      res.json({ data: { settlements: found.map(toRow), next } })
    },

    async one(req: Request, res: Response) {
      const { id } = parse(OperatorSettlementPath, req.params)
      res.json({ data: toDetail(await find(BigInt(id))) })
    },

    async retry(req: Request, res: Response) {
      const id = BigInt(parse(OperatorSettlementPath, req.params).id)
      const [retry] = await settlements.retry([id])
      const settlement = await find(id)
      if (!retry) throw new Error(`Postgres returned nothing for the retry of settlement ${id}`)
      const { code, text: message } = retryOutcome(retry, retry.signer ?? 'its signer')
      res.json({ data: { code, message, settlement: toDetail(settlement) } })
      return { settlementId: id, outcome: code }
    },
  }
}

const isSearch = ({ transaction, payer, from, to, endedWithinHours }: OperatorSettlementsQuery): boolean =>
  [transaction, payer, from, to, endedWithinHours].some((value) => value !== undefined)

function nextOf<Found>(found: readonly Found[], keyOf: (last: Found) => string): string | null {
  const last = found.at(-1)
  return last ? keyOf(last) : null
}

const toRow = ({
  id,
  nonce,
  progress,
  createdAt,
  updatedAt,
  ...row
}: PagedSettlement): OperatorSettlement => ({
  ...row,
  id: id.toString(),
  nonce: numberOf(nonce),
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
  nextStep: nextStepOf(progress),
})

function toDetail(settlement: SettlementDetail): OperatorSettlementDetail {
  const { id, transaction, blockNumber, feeAllocations, ...rest } = settlement
  return {
    ...rest,
    id: id.toString(),
    createdAt: rest.createdAt.toISOString(),
    updatedAt: rest.updatedAt.toISOString(),
    retryRequestedAt: textOf(rest.retryRequestedAt),
    settledAt: textOf(rest.settledAt),
    successReportedAt: textOf(rest.successReportedAt),
    blockNumber: numberOf(blockNumber),
    feeAllocations: feeAllocations.map((allocation) => ({
      ...allocation,
      blockNumber: numberOf(allocation.blockNumber),
    })),
    transaction: transaction && toTransaction(transaction),
    nextStep: nextStepOf(settlement),
    runbook: NEXT_STEPS_RUNBOOK,
  }
}

function toTransaction({
  signer,
  state,
  hash,
  fee,
  payments,
  ...row
}: NonNullable<SettlementDetail['transaction']>) {
  return {
    ...{ signer, state, hash, fee, payments },
    nonce: numberOf(row.nonce),
    signedAt: row.signedAt.toISOString(),
    acceptedAt: textOf(row.acceptedAt),
    blockNumber: numberOf(row.blockNumber),
    createdAt: row.createdAt.toISOString(),
    versions: row.versions.map((version) => ({ ...version, createdAt: version.createdAt.toISOString() })),
  }
}

const textOf = (time: Date | null): string | null => time?.toISOString() ?? null
const numberOf = (value: bigint | null): number | null => (value === null ? null : Number(value))
