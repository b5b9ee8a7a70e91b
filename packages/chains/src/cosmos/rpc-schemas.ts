import { createHash } from 'node:crypto'
import { z } from 'zod'

/** Responses of the CometBFT JSON-RPC, versions 0.34 to 1.0. Hashes are parsed to upper case. */
const Hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/i)
  .transform((text) => text.toUpperCase())

/** A safe integer, because our API returns heights as JSON numbers. */
const Height = z
  .string()
  .regex(/^(?:0|[1-9][0-9]{0,15})$/)
  .transform(BigInt)
  .refine((count) => count <= BigInt(Number.MAX_SAFE_INTEGER))

/** RFC 3339, parsed to Unix seconds. */
const Time = z
  .string()
  .max(64)
  .transform((text) => Math.floor(Date.parse(text) / 1000))
  .pipe(z.int().min(0))
  .transform(BigInt)

const Bytes = z
  .string()
  .refine((text) => /^[A-Za-z0-9+/]*={0,2}$/.test(text))
  .transform((text): Uint8Array => new Uint8Array(Buffer.from(text, 'base64')))

const Code = z.int().min(0).default(0)
const Text = z.string().default('')

export const Status = z
  .object({
    node_info: z.object({ network: z.string() }),
    sync_info: z.object({
      latest_block_hash: Hash,
      latest_block_height: Height,
      latest_block_time: Time,
      catching_up: z.boolean(),
    }),
  })
  .transform(({ node_info, sync_info }) => ({
    chainId: node_info.network,
    isCatchingUp: sync_info.catching_up,
    block: {
      number: sync_info.latest_block_height,
      hash: sync_info.latest_block_hash,
      timestamp: sync_info.latest_block_time,
    },
  }))

/** `timestamp` in Unix seconds. */
export type Block = z.infer<typeof Status>['block']

export const BlockMetas = z
  .object({
    block_metas: z.array(
      z.object({
        block_id: z.object({ hash: Hash }),
        header: z.object({ chain_id: z.string(), height: Height, time: Time }),
      }),
    ),
  })
  .transform(({ block_metas }) =>
    block_metas.map(({ block_id, header }) => ({
      chainId: header.chain_id,
      block: { number: header.height, hash: block_id.hash, timestamp: header.time } satisfies Block,
    })),
  )

/** The ABCI response. `height` is the height of the state that was queried; 0 if unknown. */
export const Query = z
  .object({
    response: z.object({
      code: Code,
      codespace: Text,
      log: Text,
      value: Bytes.nullish(),
      height: Height.default(0n),
    }),
  })
  .transform(({ response: { value, ...rest } }) => ({ ...rest, value: value ?? new Uint8Array() }))
export type Query = z.infer<typeof Query>

/** The result of CheckTx. */
export const Broadcast = z.object({ code: Code, codespace: Text, log: Text, hash: Hash })

export const hashOf = (txBytes: Uint8Array): string =>
  createHash('sha256').update(txBytes).digest('hex').toUpperCase()

export const TxResult = z
  .object({
    hash: Hash,
    height: Height,
    tx_result: z.object({
      code: Code,
      codespace: Text,
      log: Text,
      events: z.array(z.unknown()).nullish(),
    }),
    tx: Bytes,
  })
  .refine(({ hash, tx }) => hashOf(tx) === hash)
  .transform(({ hash, height, tx: txBytes, tx_result: { events, ...result } }) => ({
    hash,
    height,
    ...result,
    /**
     * Whether the transaction used its fee and its signers' sequences. One that fails before its messages run does not,
     * emits no event, and can be mined again.
     */
    isCharged: result.code === 0 || (events ?? []).length > 0,
    txBytes,
  }))
/** A mined transaction; `code` is 0 if all of its messages succeeded. */
export type TxResult = z.infer<typeof TxResult>

export const TxSearch = z.object({ txs: z.array(TxResult) })
