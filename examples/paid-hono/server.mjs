import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/hono'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const { FACILITATOR, CLIENT_ID, CLIENT_TOKEN, PAY_TO, PORT = '4021' } = process.env
if (!/^0x[0-9a-fA-F]{40}$/.test(PAY_TO)) {
  console.error('PAY_TO must be the address that receives payments: 0x and 40 hex digits')
  process.exit(1)
}
const key = { 'X-Client-ID': CLIENT_ID, 'X-Client-Token': CLIENT_TOKEN }
const facilitator = new HTTPFacilitatorClient({
  url: `${FACILITATOR}/api/v2`,
  createAuthHeaders: async () => ({ verify: key, settle: key, supported: key }),
})
const server = new x402ResourceServer(facilitator).register('eip155:84532', new ExactEvmScheme())
const accepts = { scheme: 'exact', price: '$0.01', network: 'eip155:84532', payTo: PAY_TO }

const app = new Hono()
app.use(paymentMiddleware({ 'GET /weather': { accepts, description: 'The weather' } }, server))
app.get('/weather', (context) => context.json({ weather: 'sunny' }))
serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, () =>
  console.log(`http://127.0.0.1:${PORT}/weather costs a cent`),
)
