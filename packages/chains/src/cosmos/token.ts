import type { Metadata } from 'cosmjs-types/cosmos/bank/v1beta1/bank'
import type { Token, Unfit } from '../family'
import { type CosmosNetwork, Denom } from './network'

/** None of what can be wrong is proven of the denomination for good: its chain may send it again, or say more of it. */
const unfit = (problem: string): Unfit => ({ problem, isTokensFault: false })

const Text = /^[^\p{Cc}]{1,128}$/u

/** Of the unit that wallets show, in powers of ten of the denomination itself; undefined where the metadata names none. */
const decimalsOf = ({ display, denomUnits }: Metadata): number | undefined =>
  denomUnits.find(({ denom }) => denom === display)?.exponent

/**
 * The denomination as its chain describes it, where payments can be taken in it: there is some of it, the bank sends it,
 * and its decimals are those of the unit that its metadata names for display. Where the chain has no metadata, which is
 * usual of tokens from elsewhere (`ibc/…`), `wanted` is believed.
 */
export async function vetToken(
  { rpc, name }: Pick<CosmosNetwork, 'rpc' | 'name'>,
  wanted: Pick<Token, 'asset' | 'decimals'>,
): Promise<Token | Unfit> {
  const { asset, decimals } = wanted
  if (!Denom.safeParse(asset).success)
    return unfit('asset is no denomination; give one such as uatom, or ibc/ and 64 hex digits')
  const [supply, isSent, metadata] = await Promise.all([
    rpc.supply(asset),
    rpc.sendEnabled(asset),
    rpc.metadata(asset),
  ])
  if (supply === 0n) return unfit(`There is no ${asset} on ${name}; correct asset or network`)
  if (!isSent) return unfit(`${name} does not let ${asset} be sent at present`)
  const own = metadata && decimalsOf(metadata)
  if (own !== undefined && own !== decimals)
    return {
      ...unfit(`decimals is not ${decimals}: the chain's own metadata says ${own}; send that`),
      decimals: own,
    }
  const symbol = [metadata?.symbol, metadata?.display, asset].find((text) => text && Text.test(text)) ?? asset
  return { asset, symbol, decimals }
}
