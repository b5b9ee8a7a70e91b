import { merchant } from '../../texts'
import { parseUnits } from '../../ui/parse-units'
import { isDollar } from './default-assets'

export const frameworks = ['express', 'hono', 'next', 'fastapi'] as const
export type Framework = (typeof frameworks)[number]

export type Offer = {
  /** The facilitator's address. */
  facilitator: string
  /** CAIP-2. */
  network: string
  /** `extra`: its EIP-712 domain. */
  asset: {
    address: string
    symbol: string
    decimals: number
    extra: { name: string; version: string }
  }
  /** In whole units, with a point, such as `0.01`. */
  price: string
  payTo: string
}

export type Snippet = {
  /** Where the code goes. */
  file: string
  code: string
  install: string
  /** What its project needs. */
  note?: string
  run: string
}

/** The libraries know its address and EIP-712 domain. */
const isKnownAsset = ({ network, asset }: Pick<Offer, 'network' | 'asset'>) =>
  isDollar(network, asset.address)

const amountOf = ({ asset, price }: Offer) => (parseUnits(price, asset.decimals, 'en') ?? 0n).toString()

const quoted = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`

function priceInScript(offer: Offer): string {
  if (isKnownAsset(offer)) return quoted(`$${offer.price}`)
  const { address, extra } = offer.asset
  const domain = `{ name: ${quoted(extra.name)}, version: ${quoted(extra.version)} }`
  return `{ asset: ${quoted(address)}, amount: '${amountOf(offer)}', extra: ${domain} }`
}

/** The page writes no address into the snippet until its reader has entered one. */
const PAY_TO_NEEDED = 'PAY_TO must be the address that receives payments: 0x and 40 hex digits'

const exitWithoutAddress = `\
if (!/^0x[0-9a-fA-F]{40}$/.test(PAY_TO)) {
  console.error('${PAY_TO_NEEDED}')
  process.exit(1)
}`

const throwWithoutAddress = `\
if (!/^0x[0-9a-fA-F]{40}$/.test(PAY_TO))
  throw new Error('${PAY_TO_NEEDED}')`

const clientOf = ({ facilitator, payTo }: Offer, environment: string, check: string) => `\
const FACILITATOR = ${quoted(facilitator)}
const PAY_TO = ${quoted(payTo)}
const { ${environment} } = process.env
${check}
const key = { 'X-Client-ID': CLIENT_ID, 'X-Client-Token': CLIENT_TOKEN }
const facilitator = new HTTPFacilitatorClient({
  url: \`\${FACILITATOR}/api/v2\`,
  createAuthHeaders: async () => ({ verify: key, settle: key, supported: key }),
})`

const serverOf = (offer: Offer) => `\
const server = new x402ResourceServer(facilitator).register('${offer.network}', new ExactEvmScheme())
const accepts = { scheme: 'exact', price: ${priceInScript(offer)}, network: '${offer.network}', payTo: PAY_TO }`

const WITH_PORT = "CLIENT_ID, CLIENT_TOKEN, PORT = '4021'"

const express = (offer: Offer) => `\
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'

${clientOf(offer, WITH_PORT, exitWithoutAddress)}
${serverOf(offer)}

const app = express()
app.use(paymentMiddleware({ 'GET /weather': { accepts, description: 'The weather' } }, server))
app.get('/weather', (req, res) => res.json({ weather: 'sunny' }))
app.listen(Number(PORT), '127.0.0.1', () => console.log(\`http://127.0.0.1:\${PORT}/weather costs ${offer.price} ${offer.asset.symbol}\`))
`

const hono = (offer: Offer) => `\
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/hono'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

${clientOf(offer, WITH_PORT, exitWithoutAddress)}
${serverOf(offer)}

const app = new Hono()
app.use(paymentMiddleware({ 'GET /weather': { accepts, description: 'The weather' } }, server))
app.get('/weather', (context) => context.json({ weather: 'sunny' }))
serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, () =>
  console.log(\`http://127.0.0.1:\${PORT}/weather costs ${offer.price} ${offer.asset.symbol}\`),
)
`

const next = (offer: Offer) => `\
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { withX402, x402ResourceServer } from '@x402/next'
import { NextResponse } from 'next/server'

${clientOf(offer, 'CLIENT_ID, CLIENT_TOKEN', throwWithoutAddress)}
${serverOf(offer)}

const weather = async () => NextResponse.json({ weather: 'sunny' })

export const GET = withX402(weather, { accepts, description: 'The weather' }, server)
`

/** JSON strings without escapes of surrogates are Python strings. */
const pythonText = (text: string) => JSON.stringify(text)

function priceInPython(offer: Offer): string {
  if (isKnownAsset(offer)) return pythonText(`$${offer.price}`)
  const { address, extra } = offer.asset
  const domain = `{"name": ${pythonText(extra.name)}, "version": ${pythonText(extra.version)}}`
  return `AssetAmount(asset=${pythonText(address)}, amount="${amountOf(offer)}", extra=${domain})`
}

const fastapi = (offer: Offer) => `\
import os
import re

import uvicorn
from fastapi import FastAPI
${isKnownAsset(offer) ? '' : 'from x402 import AssetAmount\n'}\
from x402.http import HTTPFacilitatorClient, PaymentOption, RouteConfig
from x402.http.middleware.fastapi import payment_middleware
from x402.mechanisms.evm.exact.server import ExactEvmScheme
from x402.server import x402ResourceServer

FACILITATOR = ${pythonText(offer.facilitator)}
PAY_TO = ${pythonText(offer.payTo)}
if not re.fullmatch("0x[0-9a-fA-F]{40}", PAY_TO):
    raise SystemExit("${PAY_TO_NEEDED}")
key = {"X-Client-ID": os.environ["CLIENT_ID"], "X-Client-Token": os.environ["CLIENT_TOKEN"]}
facilitator = HTTPFacilitatorClient(
    {
        "url": f"{FACILITATOR}/api/v2",
        "create_headers": lambda: {"verify": key, "settle": key, "supported": key},
    }
)
server = x402ResourceServer(facilitator).register("${offer.network}", ExactEvmScheme())
option = PaymentOption(
    scheme="exact", price=${priceInPython(offer)}, network="${offer.network}", pay_to=PAY_TO
)

app = FastAPI()
app.middleware("http")(
    payment_middleware({"GET /weather": RouteConfig(accepts=[option], description="The weather")}, server)
)


@app.get("/weather")
async def weather() -> dict[str, str]:
    return {"weather": "sunny"}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "4021")))
`

/** The tested versions. */
const X402 = '@x402/core@2.27.0 @x402/evm@2.27.0'

const snippets: Record<Framework, (offer: Offer) => Snippet> = {
  express: (offer) => ({
    file: 'server.mjs',
    code: express(offer),
    install: `npm install ${X402} @x402/express@2.27.0 express@5.3.0`,
    run: 'node server.mjs',
  }),
  hono: (offer) => ({
    file: 'server.mjs',
    code: hono(offer),
    install: `npm install ${X402} @x402/hono@2.27.0 hono@4.13.19 @hono/node-server@2.1.9`,
    run: 'node server.mjs',
  }),
  next: (offer) => ({
    file: 'app/weather/route.js',
    code: next(offer),
    install: `npm install ${X402} @x402/next@2.25.0 next@16.4.6 react@19.3.1 react-dom@19.3.1`,
    note: merchant.snippets.steps.noCommonJs,
    run: 'npx next dev --hostname 127.0.0.1 --port 4021',
  }),
  fastapi: (offer) => ({
    file: 'server.py',
    code: fastapi(offer),
    install: "pip install 'x402[evm,fastapi]==2.25.0' uvicorn==0.54.0",
    run: 'python server.py',
  }),
}

/** A server with one route that is paid through this facilitator: the examples of the repository, with the reader's values. */
export const snippetOf = (framework: Framework, offer: Offer): Snippet => snippets[framework](offer)
