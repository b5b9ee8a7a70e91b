import { z } from 'zod'
import { NativeAmount } from '../configuration'
import type { NetworkSettings } from '../family'
import { parseAddress } from './address'
import type { Rpc } from './rpc'
import type { GasModel } from './settlement/gas-model'

/** The settings that only EVM networks have. */
export type EvmSettings = {
  /** In wei per unit of gas: the cap of the gas price that we pay. */
  maxFeePerGas: bigint
  /** Factories that we may call to deploy the wallet of a payer (ERC-6492). */
  walletFactories: readonly string[]
}

const Factories = z
  .union([z.string(), z.array(z.string())], { error: 'expected a list of addresses' })
  .transform((given) => [given].flat().flatMap((text) => text.split(',').map((part) => part.trim())))
  .transform((parts) => parts.filter((part) => part !== ''))
  .pipe(z.array(z.string().refine((text) => parseAddress(text) !== undefined, 'expected an EVM address')))

export const EvmConfiguration: z.ZodType<EvmSettings> = z
  .strictObject({
    max_fee_per_gas: NativeAmount.prefault('100000000000'),
    wallet_factories: Factories.default([]),
  })
  .transform(({ max_fee_per_gas: maxFeePerGas, wallet_factories: walletFactories }) => ({
    maxFeePerGas,
    walletFactories,
  }))

export type EvmNetwork = Omit<NetworkSettings, 'signerKeys' | 'remoteSigners'> &
  EvmSettings & {
    rpc: Rpc
    signers: readonly string[]
    gasModel: GasModel
  }
