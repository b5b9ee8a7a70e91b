import { z } from 'zod'
import { NativeAmount } from '../configuration'
import type { NetworkSettings } from '../family'
import type { Rpc } from './rpc'
import type { GasModel } from './settlement/gas-model'

/** The settings that only EVM networks have. */
export type EvmSettings = {
  /** In wei per unit of gas: the cap of the gas price that we pay. */
  maxFeePerGas: bigint
}

export const EvmConfiguration: z.ZodType<EvmSettings> = z
  .strictObject({ max_fee_per_gas: NativeAmount.prefault('100000000000') })
  .transform(({ max_fee_per_gas: maxFeePerGas }) => ({ maxFeePerGas }))

export type EvmNetwork = Omit<NetworkSettings, 'signerKeys'> &
  EvmSettings & {
    rpc: Rpc
    signers: readonly string[]
    gasModel: GasModel
  }
