import {
  OperatorSettlementPath,
  OperatorSettlementsQuery,
  type OperatorSettlement,
  type OperatorSettlementDetail,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { NEXT_STEPS_RUNBOOK, nextStepOf } from '../settlements/next-step'
import { type OperatorStore } from '../settlements/operator-settlement-store'
import { retryOutcome } from '../settlements/retry-outcome'
import { type SettlementDetail } from '../settlements/settlement-detail'
import { type PagedSettlement, type SettlementPages } from '../settlements/settlement-pages'
import { decodeCursor, encodeCursor } from './cursor'

export function createOperatorSettlementHandlers(parts: {
  pages: SettlementPages
  settlements: OperatorStore
}) {
  const { pages, settlements } = parts

  async function find(id: bigint): Promise<SettlementDetail> {
    const found = await settlements.one(id)
    if (found) return found
    throw new ApiError(
      'NOT_FOUND',
      'There is no settlement of this id; GET /admin/settlements lists those that are open',
    )
  }

  async function readPage({ state, cursor, ...filter }: OperatorSettlementsQuery) {
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

function nextOf(found: readonly PagedSettlement[], keyOf: (last: PagedSettlement) => string): string | null {
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
