import { TollgateError } from '../errors.js'

/** `eip155:84532`, `84532` as a number or text, or the name that the gateway has for the chain, such as `base-sepolia`. */
export type EvmChain = string | number | bigint

/** `id` is undefined for a name: only the gateway knows which chain that is. */
export function parseEvmChain(chain: EvmChain): { name: string; id: bigint | undefined } {
  const text = String(chain)
  const digits = /^(?:eip155:)?([1-9]\d*)$/.exec(text)?.[1]
  if (digits !== undefined) return { name: `eip155:${digits}`, id: BigInt(digits) }
  if (text === '' || text.includes(':') || /^[-\d.]+$/.test(text))
    throw new TollgateError('INVALID_ARGUMENT', `"${text}" is no EVM chain; give an id such as eip155:8453`)
  return { name: text, id: undefined }
}
