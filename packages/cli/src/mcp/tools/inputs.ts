import { z } from 'zod'

export const ChainName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[A-Za-z0-9:._-]+$/, 'must be a CAIP-2 id, a chain id or a name')
  .describe('A chain of list_chains: its CAIP-2 id (eip155:84532), chain id (84532) or name (base-sepolia)')

export const MethodName = z
  .string()
  .min(1)
  .max(200)
  .describe('A method of the chain’s JSON-RPC, such as eth_blockNumber')

/** In characters, of what one answer puts into the context of a model. */
export const MAX_OUTPUT = 100_000
