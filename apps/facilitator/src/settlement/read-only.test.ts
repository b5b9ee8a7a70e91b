import { closeAll } from '@tollgate/testing'
import { newPayer, ownChain, transfersFrom } from '../testing/chain'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { paymentRequest } from '../testing/payment'

afterAll(closeAll)

const RECOVERED_WITHIN_MS = 5_000

type Sessions = { _clients: { query: (sql: string) => Promise<unknown> }[] }

test('after all its sessions became read-only, a facilitator settles again within five seconds', async () => {
  const { rpcUrl } = await ownChain()
  const { facilitator, api, client, settle } = await facilitatorWithClient({ rpcUrl })
  expect(await settle(await paymentRequest(await newPayer(rpcUrl)))).toMatchObject({ success: true })
  const payer = await newPayer(rpcUrl)
  const body = await paymentRequest(payer)

  const { _clients: sessions } = facilitator.database.pool as unknown as Sessions
  await Promise.all(sessions.map((session) => session.query('SET default_transaction_read_only = on')))
  const madeAt = performance.now()
  let isSettled = false
  while (!isSettled && performance.now() - madeAt < 4 * RECOVERED_WITHIN_MS) {
    const answer = await api.post('/api/v1/settle').set(client).send(body)
    const { success, code } = answer.body as { success?: boolean; code?: string }
    isSettled = success === true
    if (code !== undefined) expect(['UNAVAILABLE', 'SETTLEMENT_FAILED']).toContain(code)
  }
  expect(performance.now() - madeAt).toBeLessThan(RECOVERED_WITHIN_MS)
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
})
