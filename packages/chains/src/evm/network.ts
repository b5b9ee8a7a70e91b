import { z } from 'zod'
import { NativeAmount } from '../configuration'
import type { NetworkSettings } from '../family'
import type { Rpc } from './rpc'

/** Settings of an EVM network beside the common ones. */
export type EvmSettings = {
  /** In wei per unit of gas; dearer than this is not sent. */
  maxFeePerGas: bigint
}

export const EvmConfiguration: z.ZodType<EvmSettings> = z
  .strictObject({ max_fee_per_gas: NativeAmount.prefault('100000000000') })
  .transform(({ max_fee_per_gas: maxFeePerGas }) => ({ maxFeePerGas }))

/** A network as the parts of this family see it. */
export type EvmNetwork = Omit<NetworkSettings, 'signerKeys'> &
  EvmSettings & {
    rpc: Rpc
    /** The addresses that sign settlements. */
    signers: readonly string[]
  }
