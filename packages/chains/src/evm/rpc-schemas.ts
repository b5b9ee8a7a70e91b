import { z } from 'zod'

/** Responses of the Ethereum execution API, as far as we read them. Hex is parsed to lower case. */
export const Quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/i)
  .transform(BigInt)

/** A safe integer, because our API returns heights and times as JSON numbers. */
const Count = Quantity.refine((count) => count <= BigInt(Number.MAX_SAFE_INTEGER))

/** Parsed to lower case. */
export const hex = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text.toLowerCase())

/** Whole bytes. The length is checked apart, because a pattern that repeats pairs needs a stack as deep as the text is long. */
export const Data = hex(/^0x[0-9a-f]*$/i).refine((text) => text.length % 2 === 0)
export const Hash = hex(/^0x[0-9a-f]{64}$/i)
const Address = hex(/^0x[0-9a-f]{40}$/i)

export const Block = z.object({
  number: Count,
  hash: Hash,
  timestamp: Count,
  baseFeePerGas: Quantity.optional(),
})
export type Block = z.infer<typeof Block>

export const Log = z.object({
  address: Address,
  topics: z.array(Hash),
  data: Data,
  transactionHash: Hash.nullish(),
  blockNumber: Count.nullish(),
  blockHash: Hash.nullish(),
  removed: z.boolean().optional(),
})
export type Log = z.infer<typeof Log>

export const Receipt = z.object({
  transactionHash: Hash,
  blockHash: Hash,
  blockNumber: Count,
  from: Address,
  status: Quantity,
  gasUsed: Quantity,
  effectiveGasPrice: Quantity,
  /** A rollup's charge for its base layer, in addition to gas. */
  l1Fee: Quantity.nullish(),
  logs: z.array(Log),
})
export type Receipt = z.infer<typeof Receipt>

export const Transaction = z.object({ hash: Hash })

export const quantity = (value: bigint): string => `0x${value.toString(16)}`
