import { z } from 'zod'

/** A positive amount in a network's native smallest unit, in digits. */
export const NativeAmount = z
  .string()
  .regex(/^[1-9][0-9]{0,29}$/, 'expected whole units of the native currency, in digits')
  .transform(BigInt)

export const RpcUrls = z.array(z.url({ protocol: /^https?$/ })).min(1)
