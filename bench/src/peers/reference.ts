import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import express from 'express'
import { createWalletClient, http, nonceManager, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'

/**
 * The reference facilitator of x402 behind Express. Without the nonce manager one signer cannot settle concurrently, and with
 * viem's own interval it would ask for receipts each two seconds.
 */
const RECEIPT_POLL_MS = 100

type Body =
  Parameters<x402Facilitator['verify']> extends [infer Payload, infer Requirements, ...unknown[]]
    ? { paymentPayload: Payload; paymentRequirements: Requirements }
    : never

const account = privateKeyToAccount(process.env['SIGNER_KEY'] as `0x${string}`, { nonceManager })
const client = createWalletClient({
  account,
  chain: baseSepolia,
  transport: http(process.env['RPC_URL']),
  pollingInterval: RECEIPT_POLL_MS,
}).extend(publicActions)
const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as Parameters<
  typeof toFacilitatorEvmSigner
>[0])
const facilitator = new x402Facilitator().register('eip155:84532', new ExactEvmScheme(signer))

const app = express()
app.use(express.json())
app.post('/verify', async ({ body }: { body: Body }, res) => {
  res.json(await facilitator.verify(body.paymentPayload, body.paymentRequirements))
})
app.post('/settle', async ({ body }: { body: Body }, res) => {
  res.json(await facilitator.settle(body.paymentPayload, body.paymentRequirements))
})
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`listening on ${typeof address === 'object' ? address?.port : ''}\n`)
})
