import { type CreditBalance } from '@tollgate/protocol'
import { type Request, type Response } from 'express'
import { parseWallet } from '../wallet'
import { type Ledger } from './ledger'

export function createAccountHandlers(ledger: Ledger) {
  return {
    async credits(req: Request<{ wallet: string }>, res: Response) {
      const balances = await ledger.balances(parseWallet(req.params.wallet))
      const answer = balances.map(({ planId, balance }): CreditBalance => ({
        pricing_plan_id: planId,
        remaining_credits: Number(balance),
      }))
      res.set('Cache-Control', 'no-store').json(answer)
    },
  }
}
