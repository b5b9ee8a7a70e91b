/** Block explorers by network: by the facilitator's name, by chain id. Others have no link. */
const EXPLORERS: Record<string, string> = {
  base: 'https://basescan.org',
  '8453': 'https://basescan.org',
  'base-sepolia': 'https://sepolia.basescan.org',
  '84532': 'https://sepolia.basescan.org',
  ethereum: 'https://etherscan.io',
  '1': 'https://etherscan.io',
  polygon: 'https://polygonscan.com',
  '137': 'https://polygonscan.com',
  arbitrum: 'https://arbiscan.io',
  '42161': 'https://arbiscan.io',
  optimism: 'https://optimistic.etherscan.io',
  '10': 'https://optimistic.etherscan.io',
  avalanche: 'https://snowtrace.io',
  '43114': 'https://snowtrace.io',
}

const COSMOS_EXPLORERS: Record<string, string> = {
  'cosmoshub-4': 'https://www.mintscan.io/cosmos',
  'noble-1': 'https://www.mintscan.io/noble',
  'osmosis-1': 'https://www.mintscan.io/osmosis',
}

/** `network`: a name or a chain id. */
export function transactionUrl(network: string, hash: string): string | undefined {
  if (EXPLORERS[network] !== undefined) return `${EXPLORERS[network]}/tx/${hash}`
  if (COSMOS_EXPLORERS[network] !== undefined) return `${COSMOS_EXPLORERS[network]}/tx/${hash}`
  return undefined
}

export function addressUrl(network: string, address: string): string | undefined {
  if (EXPLORERS[network] !== undefined) return `${EXPLORERS[network]}/address/${address}`
  if (COSMOS_EXPLORERS[network] !== undefined) return `${COSMOS_EXPLORERS[network]}/address/${address}`
  return undefined
}
