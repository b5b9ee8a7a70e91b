import { z } from 'zod'

export const Ecosystem = z.enum(['evm', 'cosmos'])
export type Ecosystem = z.infer<typeof Ecosystem>

/** What names a network: the name answers use, and the chain id within its ecosystem. */
export type NetworkName = { name: string; ecosystem: Ecosystem; chainId: string }

const caip2Namespace: Record<Ecosystem, string> = { evm: 'eip155', cosmos: 'cosmos' }

/** The chain-agnostic name of a network, `eip155:84532` (CAIP-2). */
export const caip2 = ({ ecosystem, chainId }: Omit<NetworkName, 'name'>): string =>
  `${caip2Namespace[ecosystem]}:${chainId}`

/** The network that `text` means, be it a name, a chain id or CAIP-2; undefined where none of `known` is meant. */
export const findNetwork = <N extends NetworkName>(known: readonly N[], text: string): N | undefined =>
  known.find((network) => text === network.name || text === network.chainId || text === caip2(network))

/**
 * The network names that x402 version 1 knows. Its clients parse every offer against this list and drop all of
 * them over one foreign name, so a plan on another network is offered to version 2 clients only.
 */
export const x402V1Networks: ReadonlySet<string> = new Set([
  'abstract',
  'abstract-testnet',
  'base-sepolia',
  'base',
  'avalanche-fuji',
  'avalanche',
  'iotex',
  'sei',
  'sei-testnet',
  'polygon',
  'polygon-amoy',
  'peaq',
  'story',
  'educhain',
  'skale-base-sepolia',
])
