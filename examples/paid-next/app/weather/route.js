import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { withX402, x402ResourceServer } from '@x402/next'
import { NextResponse } from 'next/server'

const { FACILITATOR, CLIENT_ID, CLIENT_TOKEN, PAY_TO } = process.env
if (!/^0x[0-9a-fA-F]{40}$/.test(PAY_TO))
  throw new Error('PAY_TO must be the address that receives payments: 0x and 40 hex digits')
const key = { 'X-Client-ID': CLIENT_ID, 'X-Client-Token': CLIENT_TOKEN }
const facilitator = new HTTPFacilitatorClient({
  url: `${FACILITATOR}/api/v2`,
  createAuthHeaders: async () => ({ verify: key, settle: key, supported: key }),
})
const server = new x402ResourceServer(facilitator).register('eip155:84532', new ExactEvmScheme())
const accepts = { scheme: 'exact', price: '$0.01', network: 'eip155:84532', payTo: PAY_TO }

const weather = async () => NextResponse.json({ weather: 'sunny' })

export const GET = withX402(weather, { accepts, description: 'The weather' }, server)
