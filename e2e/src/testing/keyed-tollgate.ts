import { type Tollgate } from '@tollgate/wallet'
import { newCustomer } from './customers'
import { call } from './paying'
import { createAccessKey, postJson } from './plain-calls'
import { type World } from './world'

export type KeyedTollgate = Pick<Tollgate, 'send'> & {
  /** The JSON-RPC bodies that were sent, in their order. */
  sent: unknown[]
}

/** What the adapters need of a `Tollgate`, over the access key of a wallet that bought so many bundles of credits. */
export async function openKeyedTollgate(world: World, bundles = 10): Promise<KeyedTollgate> {
  const { session, pay } = await newCustomer(world, world.plan)
  const { body: asked } = await call(world, session.token)
  for (let bought = 0; bought < bundles; bought++) {
    const { status, body } = await call(world, session.token, await pay(asked))
    if (status !== 200) throw new Error(`The payment was answered ${status}: ${JSON.stringify(body)}`)
  }
  const key = await createAccessKey(world, session.token)
  const sent: unknown[] = []
  return {
    sent,
    async send(chain, body) {
      sent.push(body)
      const answer = await postJson(key.urlOf(chain), body)
      if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
      return answer.json()
    },
  }
}
