import { PERMIT2_ADDRESS, USDC_ADDRESS } from '@tollgate/devnet'
import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { callRpc, newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { AMOUNT, paymentRequest } from '../testing/payment'
import { byPermit2 } from '../testing/permit2'

const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let client: ClientHeaders
let sent: () => Promise<number>

beforeAll(async () => {
  ;({ facilitator, client, sent } = await facilitatorWithClient())
})
afterAll(closeAll)

type Body = Awaited<ReturnType<typeof byPermit2>>

const post = async (path: string, body: object) =>
  (await facilitator.api.post(path).set(client).send(body).expect(200)).body as SettleResult
const verify = (body: object) => post('/api/v2/verify', body)
const settle = (body: object) => post('/api/v2/settle', body)

/** The request in version 1, which carries the permit inside the payload. */
function inVersion1({ paymentPayload }: Body, { paymentRequirements }: { paymentRequirements: object }) {
  const { payload, extensions } = paymentPayload
  const permit2 = { ...payload, ...extensions }
  const content = { type: 'permit2', permit2 }
  return {
    x402Version: 1,
    paymentPayload: { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: content },
    paymentRequirements,
  }
}

test('a payment by Permit2 of a wallet that approved nothing is valid, and settles once, in either version', async () => {
  const payer = await newPayer(rpcUrl)
  const request = await paymentRequest(payer)
  const body = await byPermit2(payer, request)
  expect(await verify(body)).toMatchObject({ isValid: true, payer: payer.address })
  const before = await sent()

  const result = await settle(body)
  expect(result).toMatchObject({ success: true, network: 'eip155:84532', payer: payer.address })
  const duplicate = { success: false, errorReason: 'duplicate_settlement' }
  expect(await settle(body)).toMatchObject(duplicate)
  expect(await post('/api/v1/settle', inVersion1(body, request))).toMatchObject(duplicate)
  expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: 'invalid_transaction_state' })

  const { payTo } = body.paymentRequirements
  expect(await transfersFrom(rpcUrl, payer.address)).toEqual([
    {
      from: payer.address.toLowerCase(),
      to: payTo.toLowerCase(),
      value: AMOUNT,
      transaction: result.transaction,
    },
  ])
  expect(await sent()).toBe(before + 1)
})

test('one in version 1 settles likewise', async () => {
  const payer = await newPayer(rpcUrl)
  const request = await paymentRequest(payer)
  const body = inVersion1(await byPermit2(payer, request), request)
  expect(await post('/api/v1/settle', body)).toMatchObject({ success: true, payer: payer.address })
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
})

test('without its permit, which version 2 carries as an extension, it is refused, and nothing is sent', async () => {
  const payer = await newPayer(rpcUrl)
  const body = await byPermit2(payer, await paymentRequest(payer))
  const bare = { ...body, paymentPayload: { ...body.paymentPayload, extensions: undefined } }
  expect(await verify(bare)).toMatchObject({ isValid: false, invalidReason: 'invalid_transaction_state' })
  expect(await settle(bare)).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
  expect(await transfersFrom(rpcUrl, payer.address)).toEqual([])
})

test('many with one permit of one payer, all at once, pay once, and cost no transaction that fails', async () => {
  const payer = await newPayer(rpcUrl)
  const bodies = await Promise.all(
    Array.from({ length: 10 }, async () => byPermit2(payer, await paymentRequest(payer))),
  )
  const before = await sent()

  const results = await Promise.all(bodies.map(settle))

  expect(results.filter(({ success }) => success)).toHaveLength(1)
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  expect(await sent()).toBe(before + 1)
})

test('a permit that would lower the allowance of Permit2 is not submitted, and costs no transaction', async () => {
  const payer = await newPayer(rpcUrl)
  const large = '0xffffffffffff'
  await callRpc(rpcUrl, 'anvil_setERC20Allowance', payer.address, PERMIT2_ADDRESS, USDC_ADDRESS, large)
  const pay = async () => byPermit2(payer, await paymentRequest(payer))
  const sponsored = await pay()
  const bare = (await Promise.all(Array.from({ length: 5 }, pay))).map((body) => ({
    ...body,
    paymentPayload: { ...body.paymentPayload, extensions: undefined },
  }))
  const before = await sent()

  expect(await settle(sponsored)).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
  const results = await Promise.all(bare.map(settle))

  expect(results.map(({ success }) => success)).toEqual(Array(bare.length).fill(true))
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(bare.length)
  expect(await sent()).toBe(before + bare.length)
})

test('concurrent payments of many payers are each paid once', async () => {
  const payers = await Promise.all(Array.from({ length: 8 }, () => newPayer(rpcUrl)))
  const bodies = await Promise.all(payers.map(async (payer) => byPermit2(payer, await paymentRequest(payer))))
  const results = await Promise.all(bodies.map(settle))
  for (const [i, { address }] of payers.entries()) {
    expect(results[i]).toMatchObject({ success: true, payer: address })
    const [transfer, ...others] = await transfersFrom(rpcUrl, address)
    expect([transfer?.transaction, others]).toEqual([results[i]!.transaction, []])
  }
})
