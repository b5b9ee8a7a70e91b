import { USDC_ADDRESS } from '@tollgate/devnet'
import { facilitatorConfig } from '@tollgate/facilitator-client'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { HTTPFacilitatorClient, type RouteConfig } from '@x402/core/server'
import { paymentMiddleware as paymentMiddlewareV2, x402ResourceServer } from '@x402/express'
import { randomBytes } from 'node:crypto'
import { type AddressInfo } from 'node:net'
import { Wallet } from 'ethers'
import express, { type RequestHandler } from 'express'
import { paymentMiddleware } from 'x402-express'
import { type ClientKey } from './client-keys'

type Hex = `0x${string}`
const NETWORK = 'eip155:84532'

export type Merchant = Awaited<ReturnType<typeof openMerchant>>

export const PRICE = 10_000n

/** Unmodified server libraries, by their x402 version. */
const middlewares = {
  1: (payTo: Hex, facilitatorUrl: string, { clientId, token }: ClientKey): RequestHandler =>
    paymentMiddleware(
      payTo,
      { '/report': { price: '$0.01', network: 'base-sepolia' } },
      facilitatorConfig(`${facilitatorUrl}/api/v1`, { clientId, clientToken: token }),
    ),
  2: (payTo: Hex, facilitatorUrl: string, key: ClientKey): RequestHandler =>
    createV2Merchant(facilitatorUrl, key, {
      accepts: { scheme: 'exact', price: '$0.01', network: NETWORK, payTo },
    }),
}

function createV2Merchant(
  facilitatorUrl: string,
  { clientId, token }: ClientKey,
  route: Pick<RouteConfig, 'accepts' | 'extensions'>,
): RequestHandler {
  const facilitator = new HTTPFacilitatorClient(
    facilitatorConfig(`${facilitatorUrl}/api/v2`, { clientId, clientToken: token }),
  )
  return paymentMiddlewareV2(
    { 'GET /report': { ...route, mimeType: 'text/plain' } },
    new x402ResourceServer(facilitator).register(NETWORK, new ExactEvmScheme()),
  )
}

export type Version = keyof typeof middlewares

/** Starts a merchant that sells `content` for `PRICE`, with a new recipient. */
export const openMerchant = (version: Version, facilitator: { url: string }, key: ClientKey) =>
  openWith((payTo) => middlewares[version](payTo, facilitator.url, key))

const usdc = { asset: USDC_ADDRESS, amount: PRICE, domain: { name: 'USDC', version: '2' } }
/** A price in a token, which has a domain if it takes permits. */
type Price = { asset: string; amount: bigint; domain?: { name: string; version: string } }

/** The same in version 2, for payments by Permit2, with or without the token's permit. */
export const openPermit2Merchant = (
  facilitator: { url: string },
  key: ClientKey,
  { asset, amount, domain }: Price = usdc,
) =>
  openWith((payTo) => {
    const extra = { assetTransferMethod: 'permit2', ...domain }
    const price = { asset, amount: amount.toString(), extra }
    return createV2Merchant(facilitator.url, key, {
      accepts: { scheme: 'exact', price, network: NETWORK, payTo },
      extensions: { eip2612GasSponsoring: { info: { description: 'Permits are taken', version: '1' } } },
    })
  })

async function openWith(middleware: (payTo: Hex) => RequestHandler) {
  const payTo = Wallet.createRandom().address as Hex
  const content = `secret ${randomBytes(16).toString('hex')}`
  let made = 0
  const app = express()
  app.use(middleware(payTo))
  app.get('/report', (_req, res) => {
    made++
    res.type('text/plain').send(content)
  })
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/report`,
    payTo,
    content,
    /**
     * The number of runs of the route. It runs before the settlement, and its response is held until then.
     */
    made: () => made,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
