import { type Metadata } from 'cosmjs-types/cosmos/bank/v1beta1/bank'
import { type Store } from '../app/store'

export const FEE_DENOM = 'uatom'

const feeMetadata = metadata(FEE_DENOM, 'ATOM', 6)

export function metadataIn(state: Store): Metadata[] {
  const told = state.keysOf('metadata/').sort()
  return [feeMetadata, ...told.map((key) => JSON.parse(state.get(key) ?? '') as Metadata)]
}

export function setMetadata(state: Store, denom: string, symbol: string, decimals: number) {
  state.set(`metadata/${denom}`, JSON.stringify(metadata(denom, symbol, decimals)))
}

function metadata(base: string, symbol: string, decimals: number): Metadata {
  const display = symbol.toLowerCase()
  return {
    description: 'Worth nothing: a coin of the development chain',
    denomUnits: [
      { denom: base, exponent: 0, aliases: [] },
      { denom: display, exponent: decimals, aliases: [] },
    ],
    base,
    display,
    name: `Development ${symbol}`,
    symbol,
    uri: '',
    uriHash: '',
  }
}
