import { developmentCosmosWallets } from '@tollgate/cosmos-devchain'
import { COSMOS_PREFIX, type Apps } from './apps'
import { developmentWallets } from './evm/wallets'

/** `.tollgate/devnet.json`: addresses and test wallets, for scripts and tests. Their keys are public. */
export function devnetDescription({
  gateway,
  facilitator,
  infrastructure,
  serviceName,
  secrets,
  plan,
  cosmosPlan,
}: Apps) {
  const { postgres, redisUrl, rpcUrl, cosmos } = infrastructure
  return {
    notice: 'Development only: the wallets and keys in this file are known to everybody',
    gateway: {
      url: gateway.url,
      metricsUrl: gateway.metricsUrl,
      signInDomain: `localhost:${new URL(gateway.url).port}`,
      serviceName,
    },
    facilitator: {
      url: facilitator.url,
      apiUrl: `${facilitator.url}/api/v1`,
      adminToken: secrets.adminToken,
      metricsUrl: facilitator.metricsUrl,
    },
    postgres: { gatewayUrl: postgres.gateway, facilitatorUrl: postgres.facilitator },
    ...(redisUrl === undefined ? {} : { redis: { url: redisUrl } }),
    networks: [
      { ...networkOf(plan), rpcUrl, wallets: developmentWallets },
      {
        ...networkOf(cosmosPlan),
        rpcUrl: cosmos.rpcUrl,
        prefix: COSMOS_PREFIX,
        wallets: developmentCosmosWallets,
      },
    ],
    processes: { gateway: gateway.pid(), facilitator: facilitator.pid() },
  }
}

const networkOf = (plan: Apps['plan'] | Apps['cosmosPlan']) => ({
  ecosystem: plan.ecosystem,
  network: plan.network,
  chainId: plan.chain_id,
  asset: plan.asset_address,
  decimals: plan.decimals,
  symbol: plan.display_denom,
  payTo: plan.pay_to,
  planId: plan.id,
})
