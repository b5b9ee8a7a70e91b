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
  'cosmoshub-4': 'https://www.mintscan.io/cosmos',
  sei: 'https://seiscan.io',
  '1329': 'https://seiscan.io',
  world: 'https://worldscan.org',
  '480': 'https://worldscan.org',
  monad: 'https://monadscan.com',
  '143': 'https://monadscan.com',
  'osmosis-1': 'https://www.mintscan.io/osmosis',
}

/** Of a network: a name or a chain id. None if the service says that its networks are in no public explorer. */
function explorerOf(network: string): string | undefined {
  if (document.documentElement.dataset['explorers'] === 'none') return undefined
  return EXPLORERS[network]
}

const urlIn = (network: string, path: string): string | undefined => {
  const explorer = explorerOf(network)
  return explorer === undefined ? undefined : `${explorer}/${path}`
}

export const transactionUrl = (network: string, hash: string) => urlIn(network, `tx/${hash}`)

export const addressUrl = (network: string, address: string) => urlIn(network, `address/${address}`)
