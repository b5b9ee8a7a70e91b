import { createFacilitatorClient } from '@tollgate/facilitator-client'
import { startWebhookReceiver } from '@tollgate/testing'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { COUNTED_CHAIN } from '../testing/callers'
import { applyCatalog } from '../testing/catalog'
import { newCustomer, type EvmCustomer } from '../testing/customers'
import { postJson } from '../testing/holding-receiver'
import { settleRequest } from '../testing/paying'
import { blockNumberCall, walletAt, type World } from '../testing/world'

const CUSTOMERS = 4
const METHODS = ['eth_blockNumber', 'eth_getLogs', 'debug_traceBlockByNumber', 'eth_no_such_method']

/** Calls, 402s, payments, webhooks and failures of an upstream, until stopped. */
export async function startLoad(world: World) {
  const failing = createServer((_req, res) => void res.writeHead(503).end())
  failing.listen(0, '127.0.0.1')
  await once(failing, 'listening')
  const { port } = failing.address() as AddressInfo
  await applyCatalog(world, { plans: [], upstreamUrl: `http://127.0.0.1:${port}` })
  const receiver = await startWebhookReceiver()
  const customers = await Promise.all(
    Array.from({ length: CUSTOMERS }, () => newCustomer(world, world.plan, 100_000_000n)),
  )
  for (const { session } of customers)
    await postJson(`${world.gateway.url}/webhooks`, bearer(session.token), {
      url: receiver.url,
      events: ['payment.settled', 'credits.bought'],
    })
  let isStopping = false
  const counts: Record<number, number> = {}

  async function request(customer: EvmCustomer, path: string, body?: object, payment?: string) {
    const headers = {
      ...bearer(customer.session.token),
      ...(payment === undefined ? {} : { 'x-payment': payment }),
    }
    const answer = await postJson(`${world.gateway.url}${path}`, headers, body)
    counts[answer.status] = (counts[answer.status] ?? 0) + 1
    return answer
  }

  async function run(customer: EvmCustomer, index: number) {
    for (let turn = index; !isStopping; turn++) {
      const method = METHODS[turn % METHODS.length] ?? ''
      const payload = { jsonrpc: '2.0', id: turn, method, params: method === 'eth_getLogs' ? [{}] : [] }
      const chain_id = turn % 10 === 0 ? COUNTED_CHAIN : world.plan.chain_id
      const { status, body } = await request(customer, '/rpc', { ...blockNumberCall, chain_id, payload })
      if (status === 402) await request(customer, '/credits', undefined, await customer.pay(body))
      else if (turn % 60 === 0) {
        const asked = await request(customer, '/credits')
        // The second customer's payments name a wallet that is not its own.
        const payer = index === 1 && turn % 120 === 0 ? (customers[0] ?? customer) : customer
        if (asked.status === 402) await request(customer, '/credits', undefined, await payer.pay(asked.body))
      }
      await delay(40)
    }
  }
  /** Has no money, so that the facilitator refuses its payments; and asks the facilitator to verify one, as a merchant does. */
  async function runPoor() {
    const customer = await newCustomer(world, world.plan, 0n)
    const { clientId, token } = world.clientKey
    const client = createFacilitatorClient({
      url: `${world.facilitator.url}/api/v1`,
      clientId,
      clientToken: token,
    })
    while (!isStopping) {
      const asked = await request(customer, '/credits')
      if (asked.status === 402) await request(customer, '/credits', undefined, await customer.pay(asked.body))
      await client.verify(await settleRequest(walletAt(3), world.plan.pay_to, 10_000n))
      await delay(2_000)
    }
    client.close()
  }
  const running = Promise.all([...customers.map(run), runPoor()])
  return {
    counts,
    webhooks: () => receiver.received.length,
    async stop() {
      isStopping = true
      await running
      failing.closeAllConnections()
      failing.close()
    },
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
