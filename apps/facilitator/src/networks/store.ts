import { type FacilitatorDatabase, type FacilitatorModels } from '@tollgate/database'
import { type Asset } from '@tollgate/protocol'
import { type Token } from '@tollgate/chains'
import { createLookup } from '../lookup'

export type AssetStore = ReturnType<typeof createAssetStore>

type Registered = Pick<
  FacilitatorModels.Asset,
  'network' | 'asset' | 'symbol' | 'decimals' | 'name' | 'version' | 'active'
>
/** Every verification and settlement asks it. */
const REGISTERED = `
  select network, asset, symbol, decimals, name, version, active
  from unnest($1::text[], $2::text[]) as wanted (network, asset) join assets using (network, asset)`

/** Neither part has a space in it. */
const keyOf = ({ network, asset }: Pick<Asset, 'network' | 'asset'>) => `${network} ${asset}`

/** The registered assets. `asset` is always the chain's own spelling of it. */
export function createAssetStore({ prisma, pool }: Pick<FacilitatorDatabase, 'prisma' | 'pool'>) {
  const lookUp = createLookup(async (keys) => {
    const wanted = keys.map((key) => key.split(' '))
    const values = [wanted.map(([network]) => network), wanted.map(([, asset]) => asset)]
    const { rows } = await pool.query<Registered>({ name: 'assets', text: REGISTERED, values })
    return new Map(rows.map((asset) => [keyOf(asset), asset]))
  })

  return {
    /** Those that payments may be made in on these networks, oldest first. */
    async active(networks: readonly string[]): Promise<Asset[]> {
      const where = { active: true, network: { in: [...networks] } }
      return (await prisma.asset.findMany({ where, orderBy: { id: 'asc' } })).map(toAsset)
    },

    async find(network: string, asset: string): Promise<{ token: Token; active: boolean } | undefined> {
      const found = await lookUp(keyOf({ network, asset }))
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

    /** Takes the asset out of use; undefined where it is not registered. */
    async retire(network: string, asset: string): Promise<Asset | undefined> {
      const [retired] = await prisma.asset.updateManyAndReturn({
        where: { network, asset },
        data: { active: false },
      })
      return retired && toAsset(retired)
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

const toToken = ({ asset, symbol, decimals, name, version }: Registered): Token => ({
  asset,
  symbol,
  decimals,
  ...(name === null ? {} : { name }),
  ...(version === null ? {} : { version }),
})
