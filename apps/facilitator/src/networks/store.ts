import { type FacilitatorDatabase, type FacilitatorModels } from '@tollgate/database'
import { type Asset } from '@tollgate/protocol'
import { type Token } from '@tollgate/chains'

export type AssetStore = ReturnType<typeof createAssetStore>

/** The registered assets. `asset` is always the chain's own spelling of it. */
export function createAssetStore({ prisma }: Pick<FacilitatorDatabase, 'prisma'>) {
  return {
    /** Those that payments may be made in, oldest first. */
    async active(): Promise<Asset[]> {
      return (await prisma.asset.findMany({ where: { active: true }, orderBy: { id: 'asc' } })).map(toAsset)
    },

    async find(network: string, asset: string): Promise<{ token: Token; active: boolean } | undefined> {
      const found = await prisma.asset.findUnique({ where: { network_asset: { network, asset } } })
      return found ? { token: toToken(found), active: found.active } : undefined
    },

    /** Adds the asset, or brings it up to date. `active` left out: a new one is active, an old one stays as it is. */
    async register(network: string, token: Token, active?: boolean): Promise<Asset> {
      const { asset, symbol, decimals, name = null, version = null } = token
      const facts = { symbol, decimals, name, version, ...(active === undefined ? {} : { active }) }
      const registered = await prisma.asset.upsert({
        where: { network_asset: { network, asset } },
        create: { network, asset, ...facts },
        update: facts,
      })
      return toAsset(registered)
    },
  }
}

const toAsset = ({ id, network, asset, symbol, decimals, active }: FacilitatorModels.Asset): Asset => ({
  id,
  network,
  asset,
  symbol,
  decimals,
  active,
})

const toToken = ({ asset, symbol, decimals, name, version }: FacilitatorModels.Asset): Token => ({
  asset,
  symbol,
  decimals,
  ...(name === null ? {} : { name }),
  ...(version === null ? {} : { version }),
})
