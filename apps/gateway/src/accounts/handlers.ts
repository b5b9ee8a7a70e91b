import {
  HistoryQuery,
  MAX_CSV_ROWS,
  MAX_PAGE_ROWS,
  PaymentHistoryRecord,
  PaymentsQuery,
  UsageQuery,
  UsageRecord,
  type CreditBalance,
} from '@tollgate/protocol'
import { assertPageSize, parse, wantsCsv } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { parseWallet } from '../wallet-address'
import { sendExport } from './csv-export'
import { type History } from './history'
import { type Ledger } from './ledger'
import { usageRangeOf } from './usage/usage-range'
import { type UsageReport } from './usage/usage-report'

type WalletRequest = Request<{ wallet: string }>

const PAGE_SIZES = { json: MAX_PAGE_ROWS, csv: MAX_CSV_ROWS }
const USAGE_COLUMNS = Object.keys(UsageRecord.shape) as (keyof UsageRecord)[]
const PAYMENT_COLUMNS = Object.keys(PaymentHistoryRecord.shape) as (keyof PaymentHistoryRecord)[]

export function createAccountHandlers(parts: {
  ledger: Ledger
  history: History
  usageReport: UsageReport
  now: () => Date
}) {
  const { ledger, history, usageReport, now } = parts
  return {
    async credits(req: WalletRequest, res: Response) {
      const balances = await ledger.getBalances(parseWallet(req.params.wallet))
      const answer = balances.map(({ planId, balance }): CreditBalance => ({
        pricing_plan_id: planId,
        remaining_credits: Number(balance),
      }))
      res.set('Cache-Control', 'no-store').json(answer)
    },

    async history(req: WalletRequest, res: Response) {
      const wallet = parseWallet(req.params.wallet)
      const query = parse(HistoryQuery, req.query)
      const getPage = (range: object) => history.getUsagePage(wallet, { ...query, ...range })
      assertPageSize(req, query.limit, PAGE_SIZES)
      res.set('Cache-Control', 'no-store').vary('Accept')
      if (wantsCsv(req))
        await sendExport(req, res, { name: 'history', columns: USAGE_COLUMNS, range: query, getPage })
      else res.json(await getPage({}))
    },

    async payments(req: WalletRequest, res: Response) {
      const wallet = parseWallet(req.params.wallet)
      const query = parse(PaymentsQuery, req.query)
      const getPage = (range: object) => history.getPaymentPage(wallet, { ...query, ...range })
      assertPageSize(req, query.limit, PAGE_SIZES)
      res.set('Cache-Control', 'no-store').vary('Accept')
      if (wantsCsv(req))
        await sendExport(req, res, { name: 'payments', columns: PAYMENT_COLUMNS, range: query, getPage })
      else res.json(await getPage({}))
    },

    async usage(req: WalletRequest, res: Response) {
      const wallet = parseWallet(req.params.wallet)
      const query = parse(UsageQuery, req.query)
      const range = usageRangeOf(query, now())
      const data = await usageReport({ wallet, planId: query.plan_id }, range)
      const rest = { from: range.from.toISOString(), to: range.to.toISOString(), interval: range.interval }
      const text = `{"data":${data},${JSON.stringify(rest).slice(1)}`
      res.set('Cache-Control', 'no-store').type('json').send(text)
    },
  }
}
