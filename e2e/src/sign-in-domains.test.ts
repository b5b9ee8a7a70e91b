import { type SessionTokens } from '@tollgate/protocol'
import { type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { createSiweMessage } from 'viem/siwe'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { call, sign } from './testing/paying'
import { postJson } from './testing/plain-calls'

const APP = 'https://app.example'
const DECEIVER = 'https://deceiver.example'

let world: ObservedWorld
beforeAll(async () => {
  const overrides = { environment: (name: string) => (name === 'gateway' ? { SIGN_IN_DOMAINS: '*' } : {}) }
  world = await startObservedWorld({ overrides })
}, 120_000)
afterAll(() => world.stop(), 30_000)

/** By viem's text for the app's own domain. Origins: of the pages that ask for the nonce, and that send the login. */
async function logIn({
  resources = [world.gateway.url],
  nonceOrigin = APP,
  loginOrigin = APP,
}: { resources?: string[]; nonceOrigin?: string; loginOrigin?: string } = {}) {
  const { gateway, plan, newPayer } = world
  const payer = await newPayer()
  const account = privateKeyToAccount(payer.privateKey as Hex)
  const { address } = account
  const asked = await fetch(`${gateway.url}/auth/nonce?address=${address}`, {
    headers: { origin: nonceOrigin },
  })
  const { nonce } = (await asked.json()) as { nonce: string }
  const message = createSiweMessage({
    address,
    chainId: baseSepolia.id,
    domain: new URL(APP).host,
    uri: `${APP}/login`,
    nonce,
    resources,
    version: '1',
  })
  const bound = { x402_chain_id: plan.chain_id, x402_ecosystem: plan.ecosystem, pricing_plan_id: plan.id }
  const signature = await account.signMessage({ message })
  const answer = await postJson(
    `${gateway.url}/auth/login`,
    { message, signature, address, auth_method: 'siwe', ...bound },
    { origin: loginOrigin },
  )
  return { payer, answer }
}

describe('a gateway that signs in for every domain', () => {
  test('signs in by an app’s own text, sent by a page of the app, and the session pays and calls', async () => {
    const { payer, answer } = await logIn()
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    const { token } = (await answer.json()) as SessionTokens
    const payment = await sign(payer, (await call(world, token)).body)
    expect((await call(world, token, payment)).status).toBe(200)
  })

  test.each([
    ['sent by a page of another origin', { loginOrigin: DECEIVER }, [400, 'INVALID_REQUEST']],
    ['with the nonce that a page of another origin got', { nonceOrigin: DECEIVER }, [401, 'EXPIRED_NONCE']],
    ['that does not name the gateway', { resources: [] }, [400, 'INVALID_REQUEST']],
    ['that names another gateway', { resources: ['https://gateway.example'] }, [400, 'INVALID_REQUEST']],
  ])('refuses the text %s', async (_, options, refused) => {
    const { answer } = await logIn(options)
    const { code } = (await answer.json()) as { code: string }
    expect([answer.status, code]).toEqual(refused)
  })
})
