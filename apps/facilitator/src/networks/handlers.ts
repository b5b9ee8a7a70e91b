import { type Request, type Response } from 'express'
import { AssetRegistration, type SystemStatus } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { getNetwork } from './get-network'
import { type Networks } from './networks'
import { networkUnavailable, refusalText, toUnavailable } from './registration-errors'

export function createNetworkHandlers(networks: Networks, status: () => Promise<SystemStatus>) {
  return {
    async list(_req: Request, res: Response) {
      res.json({ kinds: await networks.kinds() })
    },

    async one(req: Request<{ id: string }>, res: Response) {
      const kind = await networks.kindOf(getNetwork(networks, req.params.id))
      if (!kind) throw networkUnavailable()
      const { feePayer, feePayerSigns } = kind
      res.json({ ...kind, extra: { feePayer, ...(feePayerSigns && { feePayerSigns }) } })
    },

    async status(_req: Request, res: Response) {
      res.json({ data: await status() })
    },

    async assets(_req: Request, res: Response) {
      res.json({ data: await networks.assets() })
    },

    async register(req: Request, res: Response) {
      const { network, active, min_amount: least, ...described } = parse(AssetRegistration, req.body)
      const asset = { ...described, ...(least === undefined ? {} : { minAmount: BigInt(least) }) }
      const registered = await networks
        .register(getNetwork(networks, network), asset, active)
        .catch(toUnavailable)
      if ('problem' in registered) throw new ApiError('INVALID_REQUEST', refusalText(registered))
      res.json({ data: registered })
      const { id: assetId, asset: address, active: isActive } = registered
      return { assetId, network: registered.network, asset: address, isActive }
    },
  }
}
