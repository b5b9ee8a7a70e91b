import { caip2, type FacilitatorDocument, type SupportedByFacilitator } from '@tollgate/protocol'
import { type Request, type Response } from 'express'
import { type Networks } from './networks'
import { type ReadSupported } from './supported'

const PATHS = {
  endpoints: { supported: '/supported', verify: '/verify', settle: '/settle' },
  discovery: {
    resources: '/api/v2/discovery/resources',
    search: '/discovery/search',
    merchant: '/discovery/merchant',
  },
}

/** What everybody may know about this facilitator. */
export function createCapabilityHandlers(
  readSupported: ReadSupported,
  networks: Networks,
  publicUrl: string,
) {
  async function supported(): Promise<SupportedByFacilitator> {
    const { kindsV1, kindsV2, extensions, signers } = await readSupported()
    return { kinds: [...kindsV1, ...kindsV2], extensions: [...extensions, 'bazaar'], signers }
  }

  async function assets(): Promise<FacilitatorDocument['facilitator']['assets']> {
    const listed = (await networks.assets()).map(async ({ network: name, asset: address }) => {
      const network = networks.find(name)
      const registered = network && (await networks.token(network, address))
      if (!registered) return []
      const { symbol, decimals, name: domainName, version, assetTransferMethod } = registered.token
      const domain = domainName !== undefined && version !== undefined ? { name: domainName, version } : {}
      const extra = { ...(assetTransferMethod && { assetTransferMethod }), ...domain }
      return {
        network: caip2(network),
        address,
        symbol,
        decimals,
        minAmount: registered.minAmount.toString(),
        ...(Object.keys(extra).length > 0 && { extra }),
      }
    })
    return (await Promise.all(listed)).flat()
  }

  return {
    async supported(_req: Request, res: Response) {
      res.json(await supported())
    },

    async document(_req: Request, res: Response) {
      const [{ kinds }, listed] = await Promise.all([supported(), assets()])
      res.json({
        x402Version: 2,
        kind: 'facilitator',
        name: 'Tollgate facilitator',
        description: 'Verifies and settles x402 payments on chain.',
        facilitator: { baseUrl: publicUrl, endpoints: PATHS.endpoints, kinds, assets: listed },
        discovery: PATHS.discovery,
        docs: `${publicUrl}/docs`,
        openapi: `${publicUrl}/openapi.json`,
        llms: `${publicUrl}/llms.txt`,
      } satisfies FacilitatorDocument)
    },
  }
}
