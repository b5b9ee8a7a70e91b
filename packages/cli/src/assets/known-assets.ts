import { type Plan } from '@tollgate/wallet'
import { networkOf } from '../amounts'
import { CommandError, EXIT, UsageError } from '../exit-codes'
import { printable } from '../output/printable'
import { withoutKeys } from '../wallets/key-texts'
import { STABLECOINS, type KnownAsset } from './stablecoins'

const NAMED = /^([-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})\/(.+):([0-9]{1,2})$/
const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/
/** Of the Cosmos SDK, which also allows `/` and `:`. */
const DENOMINATION = /^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/
const MAX_DECIMALS = 36

const HOW_TO_NAME =
  'takes NETWORK/ASSET:DECIMALS, such as eip155:8453/0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913:6 or cosmos:cosmoshub-4/uatom:6'

/**
 * The assets of `--asset`. The network ends at the first `/`, the decimals begin after the last `:`, so a denomination may contain
 * both.
 *
 * @throws UsageError
 */
export function parseNamedAssets(texts: readonly string[]): KnownAsset[] {
  const named: KnownAsset[] = []
  for (const text of texts) {
    const asset = parseAsset(text)
    if (!asset) throw new UsageError(`"${shown(text)}" is no asset: --asset (TOLLGATE_ASSETS) ${HOW_TO_NAME}`)
    const known = findAsset([...STABLECOINS, ...named], asset)
    if (known && known.decimals !== asset.decimals)
      throw new UsageError(`--asset ${text}: that asset has ${known.decimals} decimals`)
    named.push(known ?? asset)
  }
  return named
}

/** Those of `--asset` and the stablecoins. @throws UsageError */
export function parseAssets(texts: readonly string[]): KnownAsset[] {
  const named = parseNamedAssets(texts)
  return [
    ...STABLECOINS,
    ...named.filter((asset, at) => !findAsset([...STABLECOINS, ...named.slice(0, at)], asset)),
  ]
}

const shown = (text: string) => withoutKeys(printable(text.slice(0, 200)))

function parseAsset(text: string): KnownAsset | undefined {
  const [, network = '', asset = '', decimals = ''] = NAMED.exec(text) ?? []
  const form = network.startsWith('eip155:') ? EVM_ADDRESS : DENOMINATION
  if (!form.test(asset) || Number(decimals) > MAX_DECIMALS) return undefined
  return { network, asset, decimals: Number(decimals) }
}

type Asset = Pick<KnownAsset, 'network' | 'asset'>

export const findAsset = (known: readonly KnownAsset[], asset: Asset): KnownAsset | undefined =>
  known.find((one) => isSameAsset(one, asset))

/** Addresses in any letter case, denominations exactly. */
export const isSameAsset = (one: Asset, other: Asset): boolean =>
  one.network === other.network && keyOf(one.asset) === keyOf(other.asset)

const keyOf = (asset: string) => (EVM_ADDRESS.test(asset) ? asset.toLowerCase() : asset)

/**
 * The asset of a plan, with decimals that are not the gateway's word.
 *
 * @throws CommandError ASSET_UNKNOWN, ASSET_MISMATCH
 */
export function assertKnownAsset(plan: Plan, known: readonly KnownAsset[]): KnownAsset {
  const { asset_address: asset } = plan
  const network = networkOf(plan)
  const found = findAsset(known, { network, asset })
  if (!found)
    throw new CommandError(
      'ASSET_UNKNOWN',
      `Plan ${plan.id} is paid in ${asset} on ${network}, whose decimals only the gateway states, so an amount of it is no limit`,
      adviceToName(`${network}/${asset}:${plan.decimals}`),
      EXIT.USAGE,
    )
  if (found.decimals !== plan.decimals)
    throw new CommandError(
      'ASSET_MISMATCH',
      `The gateway states ${plan.decimals} decimals for ${asset} on ${network}, which has ${found.decimals}`,
      'Nothing is paid on these terms: the price would be another one than it looks. Tell the operator of the gateway.',
      EXIT.FAILED,
    )
  return found
}

/** Names only what is an asset: the text is for a shell, and comes from the gateway. */
const adviceToName = (text: string): string =>
  parseAsset(text)
    ? `If you want to pay in it, add --asset ${text} (or TOLLGATE_ASSETS). Its decimals are the gateway's word there: check them at the asset first.`
    : 'Choose another plan with --plan: what the gateway names cannot be an asset.'
