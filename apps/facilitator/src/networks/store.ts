import { type FacilitatorDatabase, type FacilitatorModels } from '@tollgate/database'
import { type Asset } from '@tollgate/protocol'
import { type Token } from '@tollgate/chains'
import { createBatchLoader } from '../batch-loader'

export type AssetStore = ReturnType<typeof createAssetStore>

type Registered = Pick<
  FacilitatorModels.Asset,
  'network' | 'asset' | 'symbol' | 'decimals' | 'name' | 'version' | 'active'
> & { minAmount: string | null }
/** Every verification and settlement asks it. */
const REGISTERED = `
  SELECT network, asset, symbol, decimals, name, version, active, min_amount AS "minAmount"
  FROM unnest($1::text[], $2::text[]) AS wanted (network, asset) JOIN assets USING (network, asset)`

/** An asset that payments may be made in, and the least that one may be of. */
export type RegisteredToken = { token: Token; active: boolean; minAmount: bigint }

/** A thousandth of the whole unit, which of a dollar is less than any usual price. */
const defaultMinAmount = (decimals: number): bigint => 10n ** BigInt(Math.max(decimals - 3, 0))

/** Neither part has a space in it. */
const keyOf = ({ network, asset }: Pick<Asset, 'network' | 'asset'>) => `${network} ${asset}`

/** The registered assets. `asset` is always the chain's own spelling of it. */
export function createAssetStore({ prisma, pool }: Pick<FacilitatorDatabase, 'prisma' | 'pool'>) {
  const lookUp = createBatchLoader(async (keys) => {
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

    async find(network: string, asset: string): Promise<RegisteredToken | undefined> {
      const found = await lookUp(keyOf({ network, asset }))
      if (!found) return undefined
      return { token: toToken(found), active: found.active, minAmount: minAmountOf(found) }
    },

    /**
     * Adds the asset, or brings it up to date. `active` left out: a new one is active, an old one stays as it is; `minAmount`
     * left out: a new one has the default, an old one stays as it is. One that is suspended resumes where `active` is true.
     */
    async register(
      network: string,
      token: Token,
      { active, minAmount }: { active?: boolean | undefined; minAmount?: bigint | undefined } = {},
    ): Promise<Asset> {
      const { asset, symbol, decimals, name = null, version = null } = token
      const facts = {
        symbol,
        decimals,
        name,
        version,
        ...(active === undefined ? {} : { active }),
        ...(minAmount === undefined ? {} : { minAmount: minAmount.toString() }),
      }
      const resumed = active === true ? { suspendedAt: null, suspension: null } : {}
      const upsert = prisma.asset.upsert({
        where: { network_asset: { network, asset } },
        create: { network, asset, ...facts },
        update: { ...facts, ...resumed },
      })
      if (active !== true) return toAsset(await upsert)
      // An operator has looked at the faults so far.
      const forgotten = prisma.assetFault.deleteMany({ where: { network, asset } })
      const [registered] = await prisma.$transaction([upsert, forgotten])
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

function toAsset({ minAmount, ...found }: FacilitatorModels.Asset): Asset {
  const { id, network, asset, symbol, decimals, active } = found
  const own = minAmount === null ? {} : { minAmount: minAmount.toFixed() }
  return { id, network, asset, symbol, decimals, active, ...own }
}

const minAmountOf = ({ minAmount, decimals }: Pick<Registered, 'minAmount' | 'decimals'>): bigint =>
  minAmount === null ? defaultMinAmount(decimals) : BigInt(minAmount)

const toToken = ({ asset, symbol, decimals, name, version }: Registered): Token => ({
  asset,
  symbol,
  decimals,
  ...(name === null ? {} : { name }),
  ...(version === null ? {} : { version }),
})
