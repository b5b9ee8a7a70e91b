import { OperatorUserPath, UsersQuery, type OperatorUser } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type AccountStore, type OperatorUserRow } from '../accounts/operator-account-store'

export function createOperatorUserHandlers(accounts: AccountStore) {
  const changeUser =
    (change: (id: number) => Promise<string | undefined>) => async (req: Request, res: Response) => {
      const { id } = parse(OperatorUserPath, req.params)
      const user = (await change(id)) === undefined ? undefined : await accounts.find(id)
      if (!user) throw new ApiError('NOT_FOUND', 'There is no user of this id; GET /admin/users lists all')
      res.json({ data: toWire(user) })
      return { userId: id }
    }

  return {
    async list(req: Request, res: Response) {
      res.json({ data: (await accounts.page(parse(UsersQuery, req.query))).map(toWire) })
    },
    disable: changeUser((id) => accounts.disable({ id })),
    enable: changeUser((id) => accounts.enable({ id })),
  }
}

const toWire = ({ feeShareBps, disabledAt, createdAt, ...user }: OperatorUserRow): OperatorUser => ({
  ...user,
  createdAt: createdAt.toISOString(),
  disabledAt: disabledAt?.toISOString() ?? null,
  feeSharePercent: feeShareBps === null ? null : feeShareBps / 100,
})
