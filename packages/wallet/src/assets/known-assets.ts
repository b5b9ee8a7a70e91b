/** An asset whose symbol and decimals this package does not take from a gateway. */
export type KnownAsset = {
  /** The CAIP-2 name. */
  network: string
  /** The token's address. */
  asset: string
  symbol: string
  decimals: number
}

const usdc: Record<string, string> = {
  'eip155:1': '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  'eip155:10': '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
  'eip155:137': '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  'eip155:143': '0x754704Bc059F8C67012fEd69BC8A327a5aafb603',
  'eip155:480': '0x79A02482A880bCE3F13e09Da970dC34db4CD24d1',
  'eip155:1329': '0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392',
  'eip155:8453': '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'eip155:42161': '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  'eip155:43113': '0x5425890298aed601595a70AB815c96711a31Bc65',
  'eip155:43114': '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
  'eip155:80002': '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582',
  'eip155:84532': '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  'eip155:11155111': '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
}

const eurc: Record<string, string> = {
  'eip155:1': '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c',
  'eip155:8453': '0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42',
  'eip155:43113': '0x5E44db7996c682E92a960b65AC713a54AD815c6B',
  'eip155:43114': '0xC891EB4cbdEFf6e073e859e987815Ed1505c2ACD',
  'eip155:84532': '0x808456652fdb597867f38412077A9182bf77359F',
}

const listOf = (symbol: string, assets: Record<string, string>): KnownAsset[] =>
  Object.entries(assets).map(([network, asset]) => ({ network, asset, symbol, decimals: 6 }))

/** Circle's own contracts, as its documentation lists them; no bridged ones. */
export const knownAssets: readonly KnownAsset[] = [...listOf('USDC', usdc), ...listOf('EURC', eurc)]
