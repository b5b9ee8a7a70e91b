import type { Metadata } from 'cosmjs-types/cosmos/bank/v1beta1/bank'
import type { Token, TokenProblem } from '../../family'
import { type CosmosNetwork, Denom } from '../network'

/** Never the token's fault: its chain may enable transfers again, or add metadata. */
const problemOf = (problem: string): TokenProblem => ({ problem, isTokensFault: false })

const Text = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,128}$/u

/** The exponent of the display unit; undefined if the metadata has none. */
const decimalsOf = ({ display, denomUnits }: Metadata): number | undefined =>
  denomUnits.find(({ denom }) => denom === display)?.exponent

/**
 * See `ChainTokens.validate`: the denomination has a supply, the bank allows transfers, and the decimals match the metadata.
 * Without metadata, which is usual for `ibc/…`, the decimals of `wanted` are accepted.
 */
export async function validateToken(
  { rpc, name }: Pick<CosmosNetwork, 'rpc' | 'name'>,
  wanted: Pick<Token, 'asset' | 'decimals'>,
): Promise<Token | TokenProblem> {
  const { asset, decimals } = wanted
  if (!Denom.safeParse(asset).success)
    return problemOf(
      'asset is not a denomination; give one such as uatom, or ibc/ and 64 hex digits, and none of an ERC-20 (erc20:0x...)',
    )
  const [supply, isSendEnabled, metadata] = await Promise.all([
    rpc.supply(asset),
    rpc.sendEnabled(asset),
    rpc.metadata(asset),
  ])
  if (supply === 0n) return problemOf(`There is no ${asset} on ${name}; correct asset or network`)
  if (!isSendEnabled) return problemOf(`${name} does not allow transfers of ${asset} at present`)
  const own = metadata && decimalsOf(metadata)
  if (own !== undefined && own !== decimals)
    return {
      ...problemOf(`decimals is not ${decimals}: the chain's own metadata says ${own}; send that`),
      decimals: own,
    }
  const symbol = [metadata?.symbol, metadata?.display, asset].find((text) => text && Text.test(text)) ?? asset
  return { asset, symbol, decimals }
}
