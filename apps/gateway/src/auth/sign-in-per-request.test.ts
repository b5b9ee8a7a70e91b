import { encodeJson } from '@tollgate/protocol'
import { createSIWxMessage, type CompleteSIWxInfo } from '@x402/extensions/sign-in-with-x'
import { balanceOf } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { blockNumber, offerIn, post } from '../testing/plain'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(() => auditAndClose(gateway))

const url = '/v1/84532'

async function payer(credits = 100) {
  const { signer, address } = gateway.wallet()
  if (credits > 0) await gateway.fund(address, credits)
  async function prove() {
    const { info } = offerIn(await gateway.api.get(url)).extensions!['sign-in-with-x'] as {
      info: Omit<CompleteSIWxInfo, 'chainId' | 'type'>
    }
    const proof = { ...info, chainId: 'eip155:84532', type: 'eip191' as const }
    const signature = await signer.signMessage(createSIWxMessage(proof, address))
    return { 'sign-in-with-x': encodeJson({ ...proof, address, signature }) }
  }
  async function rows() {
    const text = `SELECT revoked_at, (SELECT count(*)::int FROM refresh_tokens WHERE session_id = sessions.id) AS tokens
      FROM sessions WHERE wallet = $1`
    return (await gateway.pool.query(text, [address])).rows as unknown[]
  }
  const call = async (body: unknown = blockNumber, path = url) => post(gateway.api, path, body, await prove())
  return { address, call, rows, balance: () => balanceOf(gateway.ledger, address) }
}

test('all proofs of a wallet on a plan share one session, which has no refresh token', async () => {
  const { address, call, rows, balance } = await payer()
  const answers = [await call(), ...(await Promise.all([call(), call(), call()]))]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(await balance()).toBe(96n)
  expect(await rows()).toEqual([{ revoked_at: null, tokens: 0 }])

  gateway.catalog.plans.push(planOf({ id: 2, amount: '20000' }))
  await gateway.reapply()
  await gateway.fund(address, 1_000, 2)
  expect((await call()).status).toBe(200)
  expect(await balanceOf(gateway.ledger, address, 2)).toBe(999n)
  expect(await rows()).toHaveLength(2)
  gateway.catalog.plans.pop()
  await gateway.reapply()
})

test('a call that is refused stores no session', async () => {
  const { call, rows } = await payer()
  expect((await call('{')).body).toMatchObject({ error: { code: -32_700 } })
  expect((await call({ ...blockNumber, method: 'eth_subscribe' })).body).toMatchObject({ error: {} })
  expect(outcomeOf(await call(blockNumber, `${url}/nothing`))).toEqual([404, 'NOT_FOUND'])
  expect(await rows()).toEqual([])
})

test('a wallet without credits is asked to pay, and has no session', async () => {
  const { call, rows } = await payer(0)
  expect((await call()).status).toBe(402)
  expect(await rows()).toEqual([])
})

test('a new proof signs in although an operator has ended all sessions', async () => {
  const { address, call, rows } = await payer()
  expect((await call()).status).toBe(200)
  await gateway.pool.query('UPDATE sessions SET revoked_at = now() WHERE wallet = $1', [address])
  expect((await call()).status).toBe(200)
  expect(await rows()).toEqual([{ revoked_at: null, tokens: 0 }])
})
