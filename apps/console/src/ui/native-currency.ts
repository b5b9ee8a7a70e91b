/** Networks, by the facilitator's name and by chain id, whose fees are paid in another currency than ether. */
const OTHERS: Record<string, string> = {
  '56': 'BNB',
  '97': 'tBNB',
  '100': 'XDAI',
  polygon: 'POL',
  '137': 'POL',
  '80002': 'POL',
  monad: 'MON',
  '143': 'MON',
  sei: 'SEI',
  '1329': 'SEI',
  '43113': 'AVAX',
  avalanche: 'AVAX',
  '43114': 'AVAX',
}

/** The symbol of the currency in which an EVM network takes its fees. */
export const evmCurrency = (network: string): string => OTHERS[network] ?? 'ETH'
