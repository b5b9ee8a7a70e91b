import { OperatorAssetPath, OperatorAssetsQuery, type OperatorAsset } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { getNetwork } from '../../networks/get-network'
import { refusalText, toUnavailable } from '../../networks/registration-errors'
import { type Networks } from '../../networks/networks'
import { type OperatorAssetRow, type OperatorAssetStore } from '../assets/operator-asset-store'
import { decodeCursor, encodeCursor } from './cursor'

export function createOperatorAssetHandlers(parts: {
  assets: OperatorAssetStore
  networks: Pick<Networks, 'register' | 'find' | 'all'>
}) {
  const { assets, networks } = parts

  return {
    async list(req: Request, res: Response) {
      const { limit, cursor } = parse(OperatorAssetsQuery, req.query)
      const [after = 0n] = cursor === undefined ? [] : decodeCursor(cursor, 1)
      const { found, hasMore } = await assets.page({ limit, after })
      const last = found.at(-1)
      const next = hasMore && last ? encodeCursor(last.id) : null
      res.json({ data: { assets: found.map(toWire), next } })
    },

    /** Simulates its transfers first, as a registration does, and ends a suspension. */
    async activate(req: Request, res: Response) {
      const { id } = parse(OperatorAssetPath, req.params)
      const { network, asset, symbol, decimals } = await existing(assets.find(id))
      const registered = await networks
        .register(getNetwork(networks, network), { asset, symbol, decimals }, true)
        .catch(toUnavailable)
      if ('problem' in registered) throw new ApiError('CONFLICT', refusalText(registered))
      res.json({ data: toWire(await existing(assets.find(id))) })
      return { assetId: id, network, asset }
    },

    async deactivate(req: Request, res: Response) {
      const { id } = parse(OperatorAssetPath, req.params)
      const retired = await existing(assets.deactivate(id))
      res.json({ data: toWire(retired) })
      return { assetId: id, network: retired.network, asset: retired.asset }
    },
  }
}

async function existing(found: Promise<OperatorAssetRow | undefined>): Promise<OperatorAssetRow> {
  const asset = await found
  if (asset) return asset
  throw new ApiError('NOT_FOUND', 'There is no asset of this id; GET /admin/assets lists all')
}

const toWire = ({
  assetTransferMethod,
  minAmount,
  suspendedAt,
  createdAt,
  ...asset
}: OperatorAssetRow): OperatorAsset => ({
  ...asset,
  ...(assetTransferMethod === 'permit2' && { assetTransferMethod }),
  ...(minAmount === null ? {} : { minAmount }),
  suspendedAt: suspendedAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
})
