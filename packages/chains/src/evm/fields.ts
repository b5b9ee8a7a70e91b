import { Amount } from '@tollgate/protocol'
import { z } from 'zod'
import { parseAddress } from './address'
import { hex } from './rpc-schemas'

/** Fields that payers sign, in canonical spelling. */
export const Address = z.string().transform((text, context) => {
  const address = parseAddress(text)
  if (address === undefined) context.addIssue({ code: 'custom', message: 'is no EVM address' })
  return address ?? z.NEVER
})

export const Uint256 = Amount.transform(BigInt).refine((value) => value < 2n ** 256n)

/** Room for the signature of any smart wallet: 8 KiB. */
export const Signature = hex(/^0x(?:[0-9a-f]{2}){0,8192}$/i)
