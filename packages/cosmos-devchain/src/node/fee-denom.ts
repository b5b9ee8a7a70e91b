import { type Metadata } from 'cosmjs-types/cosmos/bank/v1beta1/bank'

export const FEE_DENOM = 'uatom'

export const FEE_METADATA: Metadata = {
  description: 'Worth nothing: a coin of the development chain',
  denomUnits: [
    { denom: FEE_DENOM, exponent: 0, aliases: [] },
    { denom: 'atom', exponent: 6, aliases: [] },
  ],
  base: FEE_DENOM,
  display: 'atom',
  name: 'Development ATOM',
  symbol: 'ATOM',
  uri: '',
  uriHash: '',
}
