import { z } from 'zod'
import { NativeAmount } from '../configuration'
import type { NetworkSettings } from '../family'
import type { CosmosRpc } from './rpc'

/** What a Cosmos network is told beside what all networks are. */
export type CosmosSettings = {
  /** Of its addresses (bech32): `cosmos`. */
  prefix: string
  /** What our own transactions pay their fees in: the network's native denomination. */
  feeDenom: string
  /** What our own transactions offer for a unit of gas, in 10^-18 of the smallest unit of `feeDenom`. */
  gasPrice: bigint
  /** What the fee of a payment may be that we bear, in smallest units of `feeDenom`; undefined where payers bear theirs. */
  gaslessMaxFee?: bigint
}

const GAS_PRICE_DECIMALS = 18

/** A denomination, as the bank module takes it. */
export const Denom = z
  .string()
  .regex(/^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/, 'expected a denomination such as uatom')

const GasPrice = z
  .string()
  .regex(/^(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?$/, 'expected an amount for a unit of gas such as 0.025')
  .transform((text) => {
    const [whole = '', fraction = ''] = text.split('.')
    return BigInt(whole + fraction.padEnd(GAS_PRICE_DECIMALS, '0'))
  })

export const CosmosConfiguration: z.ZodType<CosmosSettings> = z
  .strictObject({
    bech32_prefix: z.string().regex(/^[a-z][a-z0-9]{0,30}$/, 'expected a prefix of addresses such as cosmos'),
    fee_denom: Denom,
    gas_price: GasPrice,
    gasless_max_fee: NativeAmount.optional(),
  })
  .transform(({ bech32_prefix: prefix, fee_denom: feeDenom, gas_price: gasPrice, gasless_max_fee }) => ({
    prefix,
    feeDenom,
    gasPrice,
    ...(gasless_max_fee === undefined ? {} : { gaslessMaxFee: gasless_max_fee }),
  }))

/** A network as the parts of this family see it. */
export type CosmosNetwork = Omit<NetworkSettings, 'signerKeys'> &
  CosmosSettings & {
    rpc: CosmosRpc
    /** The address of our key: the fee granter of gasless payments. */
    signer: string
  }
