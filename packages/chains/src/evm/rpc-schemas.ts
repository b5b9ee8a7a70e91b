import { z } from 'zod'

/** What an Ethereum node answers (the execution API), as far as we read it. Hex comes out in lower case. */
export const Quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/i)
  .transform(BigInt)

/**
 * A count of blocks or seconds: exact as a number too, as those who ask us read it. A node that says more answers nonsense,
 * and is passed over like any that does.
 */
const Count = Quantity.refine((count) => count <= BigInt(Number.MAX_SAFE_INTEGER))

/** Hex in lower case, of the shape that `pattern` asks for. */
export const hex = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text.toLowerCase())

/** Whole bytes. Counted apart: a pattern that repeats pairs needs a stack as deep as the text is long. */
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
  /** What a rollup charges for its base layer, beside the gas. */
  l1Fee: Quantity.nullish(),
  logs: z.array(Log),
})
export type Receipt = z.infer<typeof Receipt>

export const Transaction = z.object({ hash: Hash })

/** A number as the node reads it. */
export const quantity = (value: bigint): string => `0x${value.toString(16)}`
