import {
  PlanPath,
  ProviderPath,
  ProviderQuery,
  type PricingPlan,
  type Provider as ProviderAnswer,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Catalog, type Plan, type Provider } from './catalog'
import { getCallPrices, notServedOf, pricePerCredit, type CallPrices } from './call-prices'
import { type Chains } from './chains'
import { publicUrlsOf } from './public-urls'
import { type Supported } from './supported'

export function createCatalogHandlers(catalog: Catalog, supported: Supported, publicUrl: string) {
  return {
    async plans(_req: Request, res: Response) {
      const plans = await catalog.getActivePlans()
      const callPrices = await getCallPrices(catalog)
      res.json(plans.map((plan) => planAnswer(plan, callPrices)))
    },

    async plan(req: Request, res: Response) {
      const { id } = parse(PlanPath, req.params)
      const plan = (await catalog.getActivePlans()).find((candidate) => candidate.id === id)
      if (!plan) throw new ApiError('NOT_FOUND', `There is no active plan ${id}; see GET /pricing`)
      res.json({ data: planAnswer(plan, await getCallPrices(catalog)) })
    },

    async providers(_req: Request, res: Response) {
      const [providers, chains] = await Promise.all([catalog.getProviders(), catalog.readChains()])
      res.json({ data: providers.map((provider) => providerAnswer(provider, chains, publicUrl)) })
    },

    async provider(req: Request, res: Response) {
      const { id } = parse(ProviderPath, req.params)
      const { category, chain_id } = parse(ProviderQuery, req.query)
      const chains = await catalog.readChains()
      const chainId = chains.findIn(category, chain_id)?.chainId ?? chain_id
      const candidates = await catalog.findProviders(category, chainId)
      const provider = candidates.find(({ key }) => key === id)
      if (!provider)
        throw new ApiError('NOT_FOUND', 'There is no such provider on that chain; see GET /providers')
      res.json({ data: providerAnswer(provider, chains, publicUrl) })
    },

    async supported(_req: Request, res: Response) {
      res.json({ kinds: await supported.getKinds() })
    },
  }
}

export const planAnswer = (plan: Plan, calls: CallPrices[]): PricingPlan => ({
  id: plan.id,
  plan_name: plan.name,
  chain_id: plan.chainId,
  network: plan.network,
  ecosystem: plan.ecosystem,
  asset_address: plan.asset,
  amount: plan.amount.toString(),
  decimals: plan.decimals,
  display_denom: plan.displayDenom,
  credits: plan.credits,
  pay_to: plan.payTo,
  ...(plan.ecosystem === 'evm' &&
    !plan.transferMethods.includes('eip3009') && { asset_transfer_method: 'permit2' }),
  price_per_credit: pricePerCredit(plan),
  calls,
})

const providerAnswer = (provider: Provider, chains: Chains, publicUrl: string): ProviderAnswer => ({
  id: provider.id,
  provider_id: provider.key,
  category: provider.category,
  chain_id: provider.chainId,
  network: chains.findIn(provider.category, provider.chainId)?.network ?? provider.chainId,
  rpc: publicUrlsOf(provider, 'rpc', publicUrl),
  rest: publicUrlsOf(provider, 'rest', publicUrl),
  description: provider.description,
  methods: provider.methods,
  not_served: notServedOf(provider),
})
