import { z } from 'zod'
import { NativeAmount } from '../configuration'
import type { NetworkSettings } from '../family'
import type { CosmosRpc } from './rpc'

/** The settings that only Cosmos networks have. */
export type CosmosSettings = {
  /** The bech32 prefix of addresses: `cosmos`. */
  prefix: string
  /** The network's native denomination, in which all fees are paid. */
  feeDenom: string
  /** The price of a unit of gas in our own transactions, in 10^-18 of the smallest unit of `feeDenom`. */
  gasPrice: bigint
  /** The maximum fee of one payment that we pay, in smallest units of `feeDenom`; undefined if payers pay their own. */
  gaslessMaxFee?: bigint
}

const GAS_PRICE_DECIMALS = 18

/**
 * Not the bank's name of an ERC-20, as on Injective: its balance is the one that the EVM network of the chain pays from, and under both
 * names it would be offered, and its transfers be counted, twice.
 */
const IS_OF_ERC20 = /^erc20[:/]/i

export const Denom = z
  .string()
  .regex(/^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/, 'expected a denomination such as uatom')
  .refine(
    (denom) => !IS_OF_ERC20.test(denom),
    'is the name of an ERC-20 in the bank; sell for the ERC-20 on the EVM network of the chain',
  )

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

export type CosmosNetwork = Omit<NetworkSettings, 'signerKeys' | 'remoteSigners'> &
  CosmosSettings & {
    rpc: CosmosRpc
    /** The fee granter of gasless payments; empty if there is no signer key. */
    signer: string
  }
