import { type FacilitatorDatabase, type FacilitatorModels } from '@tollgate/database'
import { type Asset } from '@tollgate/protocol'
import { type Token } from '@tollgate/chains'
import { createBatchLoader } from '../batch-loader'

export type AssetStore = ReturnType<typeof createAssetStore>

type Registered = Pick<
  FacilitatorModels.Asset,
  'network' | 'asset' | 'symbol' | 'decimals' | 'name' | 'version' | 'assetTransferMethod' | 'active'
> & { minAmount: string | null }
/** Runs for every verification and settlement. */
const REGISTERED = `
  SELECT network, asset, symbol, decimals, name, version, asset_transfer_method AS "assetTransferMethod", active,
    min_amount AS "minAmount"
  FROM unnest($1::text[], $2::text[]) AS wanted (network, asset) JOIN assets USING (network, asset)`

export type RegisteredToken = { token: Token; active: boolean; minAmount: bigint }

/** 0.001 of the whole unit: below common prices for a US dollar token. */
const defaultMinAmount = (decimals: number): bigint => 10n ** BigInt(Math.max(decimals - 3, 0))

/** Neither part contains a space. */
const keyOf = ({ network, asset }: Pick<Asset, 'network' | 'asset'>) => `${network} ${asset}`

/** `asset` is always in the chain's canonical spelling. */
export function createAssetStore({ prisma, pool }: Pick<FacilitatorDatabase, 'prisma' | 'pool'>) {
  const lookUp = createBatchLoader(async (keys) => {
    const wanted = keys.map((key) => key.split(' '))
    const values = [wanted.map(([network]) => network), wanted.map(([, asset]) => asset)]
    const { rows } = await pool.query<Registered>({ name: 'assets', text: REGISTERED, values })
    return new Map(rows.map((asset) => [keyOf(asset), asset]))
  })

  return {
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
     * Inserts or updates the asset. Without `active` a new one is active, and an existing one unchanged;
     * without `minAmount` a new one has the default, and an existing one is unchanged. `active: true` ends a
     * suspension.
     */
    async register(
      network: string,
      token: Token,
      { active, minAmount }: { active?: boolean | undefined; minAmount?: bigint | undefined } = {},
    ): Promise<Asset> {
      const { asset, symbol, decimals, name = null, version = null, assetTransferMethod = null } = token
      const facts = {
        symbol,
        decimals,
        name,
        version,
        assetTransferMethod,
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
  return { id, network, asset, symbol, decimals, active, ...transferMethodOf(found), ...own }
}

const minAmountOf = ({ minAmount, decimals }: Pick<Registered, 'minAmount' | 'decimals'>): bigint =>
  minAmount === null ? defaultMinAmount(decimals) : BigInt(minAmount)

const transferMethodOf = ({ assetTransferMethod }: Pick<FacilitatorModels.Asset, 'assetTransferMethod'>) =>
  assetTransferMethod === 'permit2' ? { assetTransferMethod: 'permit2' as const } : {}

const toToken = ({ asset, symbol, decimals, name, version, ...found }: Registered): Token => ({
  asset,
  symbol,
  decimals,
  ...(name === null ? {} : { name }),
  ...(version === null ? {} : { version }),
  ...transferMethodOf(found),
})
