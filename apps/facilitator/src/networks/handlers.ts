import { type Request, type Response } from 'express'
import { ChainUnavailable } from '@tollgate/chains'
import { AssetRegistration, type SystemStatus } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { getNetwork } from './get-network'
import { type Networks } from './networks'
import { type Refused } from './registration'

const unavailable = (cause?: unknown) =>
  new ApiError('UNAVAILABLE', 'The network gives no answer right now; try again in a moment', {
    retryAfterSeconds: 2,
    cause,
  })

const registrationTexts: Record<Refused['registration'], string> = {
  none: '',
  kept: '. The asset is registered, and stays as it is',
  retired:
    '. The asset was registered, and is taken out of use; register it with active true once its token is mended',
}

function toUnavailable(error: unknown): never {
  throw error instanceof ChainUnavailable ? unavailable(error) : error
}

export function createNetworkHandlers(networks: Networks, status: () => Promise<SystemStatus>) {
  return {
    async list(_req: Request, res: Response) {
      res.json({ kinds: await networks.kinds() })
    },

    async one(req: Request<{ id: string }>, res: Response) {
      const kind = await networks.kindOf(getNetwork(networks, req.params.id))
      if (!kind) throw unavailable()
      res.json({ ...kind, extra: { feePayer: kind.feePayer } })
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
      if ('problem' in registered)
        throw new ApiError('INVALID_REQUEST', registered.problem + registrationTexts[registered.registration])
      res.json({ data: registered })
    },
  }
}
