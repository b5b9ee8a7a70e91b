import { type WalletStorage } from '@tollgate/wallet'
import { CommandError, EXIT } from '../exit-codes'
import { findAsset, isSameAsset } from './known-assets'
import { type KnownAsset } from './stablecoins'

/**
 * The asset that a wallet pays a gateway in. The gateway names it at each start, and each asset has limits of its own: a gateway
 * that names another one each day, or hour, would get the limit of a day again.
 *
 * @param named the assets of `--asset`, which the user allows whatever was paid before
 */
export function createPaidAsset(
  storage: Pick<WalletStorage, 'get' | 'set' | 'create'>,
  { url, address, named }: { url: string; address: string; named: readonly KnownAsset[] },
) {
  const key = `assets/${keyPart(url)}/${keyPart(address.toLowerCase())}`
  const isNamed = (asset: KnownAsset) => findAsset(named, asset) !== undefined

  async function assertUnchanged(asset: KnownAsset): Promise<void> {
    const text = await storage.get(key)
    if (text === undefined || isNamed(asset)) return
    const before = parse(text)
    if (!isSameAsset(before, asset)) throw changed(before, asset)
  }

  return {
    /** @throws CommandError ASSET_CHANGED */
    assertUnchanged,
    /**
     * To be called before each signature. A named asset takes the place of the one before.
     *
     * @throws CommandError ASSET_CHANGED, also if another process was first
     */
    async remember(asset: KnownAsset): Promise<void> {
      const text = `${asset.network}/${asset.asset}`
      if (await storage.create(key, text)) return
      await assertUnchanged(asset)
      if (isNamed(asset)) await storage.set(key, text)
    },
  }
}

/** No two texts have the same. */
const keyPart = (text: string) =>
  text.replaceAll(/[^A-Za-z0-9.:-]/g, (character) => `_${character.charCodeAt(0).toString(16)}_`)

/** The network ends at the first `/`. */
function parse(text: string): { network: string; asset: string } {
  const at = text.indexOf('/')
  return { network: text.slice(0, at), asset: text.slice(at + 1) }
}

const changed = (
  before: { network: string; asset: string },
  { network, asset, symbol, decimals }: KnownAsset,
) =>
  new CommandError(
    'ASSET_CHANGED',
    `This wallet has paid this gateway in ${before.asset} on ${before.network}, and is now asked for ${symbol === undefined ? '' : `${symbol}, `}${asset} on ${network}`,
    `Nothing was signed. If you want to pay in it, add --asset ${network}/${asset}:${decimals} (or TOLLGATE_ASSETS): --max-day counts for each asset that you name.`,
    EXIT.USAGE,
  )
