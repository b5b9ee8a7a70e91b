import { HistoryQuery, PaymentsQuery, type CreditBalance } from '@tollgate/protocol'
import { parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { parseWallet } from '../wallet-address'
import { type History } from './history'
import { type Ledger } from './ledger'

type WalletRequest = Request<{ wallet: string }>

export function createAccountHandlers(ledger: Ledger, history: History) {
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
      const page = await history.getUsagePage(wallet, parse(HistoryQuery, req.query))
      res.set('Cache-Control', 'no-store').json(page)
    },

    async payments(req: WalletRequest, res: Response) {
      const wallet = parseWallet(req.params.wallet)
      const page = await history.getPaymentPage(wallet, parse(PaymentsQuery, req.query))
      res.set('Cache-Control', 'no-store').json(page)
    },
  }
}
