import { z } from 'zod'

/** An amount in a network's native smallest unit, above zero, as configuration writes it: digits. */
export const NativeAmount = z
  .string()
  .regex(/^[1-9][0-9]{0,29}$/, 'expected whole units of the native currency, in digits')
  .transform(BigInt)

/** Where a network's nodes are: at least one. */
export const RpcUrls = z.array(z.url({ protocol: /^https?$/ })).min(1)
