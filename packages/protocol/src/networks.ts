import { z } from 'zod'

export const Ecosystem = z.enum(['evm', 'cosmos'])
export type Ecosystem = z.infer<typeof Ecosystem>

/** `name` as in responses; `chainId` is the chain's own id. */
export type NetworkName = { name: string; ecosystem: Ecosystem; chainId: string }

const caip2Namespace: Record<Ecosystem, string> = { evm: 'eip155', cosmos: 'cosmos' }

export const caip2 = ({ ecosystem, chainId }: Omit<NetworkName, 'name'>): string =>
  `${caip2Namespace[ecosystem]}:${chainId}`

export const findNetwork = <N extends NetworkName>(known: readonly N[], text: string): N | undefined =>
  known.find((network) => text === network.name || text === network.chainId || text === caip2(network))

/**
 * The network names of x402 version 1, and their EVM chain ids. A version 1 client rejects all offers of a
 * 402 if one has another network name, so plans on other networks are offered to version 2 clients only.
 */
export const x402V1Networks: ReadonlyMap<string, string> = new Map([
  ['abstract', '2741'],
  ['abstract-testnet', '11124'],
  ['base-sepolia', '84532'],
  ['base', '8453'],
  ['avalanche-fuji', '43113'],
  ['avalanche', '43114'],
  ['iotex', '4689'],
  ['sei', '1329'],
  ['sei-testnet', '1328'],
  ['polygon', '137'],
  ['polygon-amoy', '80002'],
  ['peaq', '3338'],
  ['story', '1514'],
  ['educhain', '41923'],
  ['skale-base-sepolia', '324705682'],
])
