import { closeAll } from '@tollgate/testing'
import { newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { outcomeOf } from '../testing/outcome'
import { inVersion2, paymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
let harness: FacilitatorWithClient
beforeAll(async () => (harness = await facilitatorWithClient()))
afterAll(closeAll)

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

/** Each turns a valid payment into ambiguous or invalid JSON. */
const changes: [string, (text: string) => string][] = [
  ['an amount twice', (text) => text.replace(/("(?:maxAmountRequired|amount)":)/, '$1"1",$1')],
  ['a recipient twice, once escaped', (text) => text.replace('"payTo":', '"pay\\u0054o":"0x1","payTo":')],
  ['a signature twice', (text) => text.replace('"signature":', '"signature":"0x","signature":')],
  ['a network twice, and the same', (text) => text.replace(/("network":"[^"]+",)/, '$1$1')],
  ['its payload twice', (text) => text.replace('"payload":', '"payload":{},"payload":')],
  ['a __proto__', (text) => text.replace('{', '{"__proto__":{"success":true},')],
  ['an escaped __proto__ within', (text) => text.replace('"payload":{', '"payload":{"\\u005f_proto__":{},')],
  ['a constructor', (text) => text.replace('"extra":{', '"extra":{"constructor":{"prototype":{}},')],
  ['ten thousand levels within', (text) => text.replace('"extra":{', `"extra":{"deep":${deep(10_000)},`)],
  ['something after its end', (text) => `${text}{}`],
  ['a byte order mark', (text) => `\ufeff${text}`],
  ['a comment', (text) => text.replace('{', '{/**/')],
  ['a comma too many', (text) => text.replace(/}$/, ',}')],
]

describe.each(['/api/v1', '/api/v2'])(
  'a valid payment to %s is 400, and nothing is claimed or sent, if it has',
  (api) => {
    test.each(changes)('%s', async (_, change) => {
      const payer = await newPayer(rpcUrl)
      const good = await paymentRequest(payer)
      const text = JSON.stringify(api === '/api/v1' ? good : inVersion2(good))
      const spoiled = change(text)
      expect(spoiled).not.toBe(text)
      const { settlement } = harness.facilitator.database.prisma
      const before = [await harness.sent(), await settlement.count()]
      for (const path of ['verify', 'settle']) {
        const answer = await harness.facilitator.api
          .post(`${api}/${path}`)
          .set({ ...harness.client, 'Content-Type': 'application/json' })
          .send(spoiled)
        expect([path, ...outcomeOf(answer)]).toEqual([path, 400, 'INVALID_REQUEST'])
      }
      expect([await harness.sent(), await settlement.count()]).toEqual(before)
      expect(await transfersFrom(rpcUrl, payer.address)).toEqual([])
    })

    test('none of these: it is settled', async () => {
      const payer = await newPayer(rpcUrl)
      const good = await paymentRequest(payer)
      const answer = await harness.facilitator.api
        .post(`${api}/settle`)
        .set({ ...harness.client, 'Content-Type': 'application/json' })
        .send(JSON.stringify(api === '/api/v1' ? good : inVersion2(good)))
      expect(answer.body).toMatchObject({ success: true })
    })
  },
)
