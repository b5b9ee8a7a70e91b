import { type Plan } from '@tollgate/wallet'

export const testPlan = (changes: Partial<Plan> = {}): Plan => ({
  id: 1,
  plan_name: 'Base Sepolia starter',
  chain_id: '84532',
  network: 'base-sepolia',
  ecosystem: 'evm',
  asset_address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  amount: '10000',
  decimals: 6,
  display_denom: 'USDC',
  credits: 100,
  pay_to: '0x941b84B0EFa6B0De50C626dD1c5870441344F361',
  price_per_credit: '0.0001',
  calls: [],
  ...changes,
})
