import { deploySmartWallet } from '@tollgate/devnet'
import { encodeJson } from '@tollgate/protocol'
import { createSIWxMessage, type CompleteSIWxInfo } from '@x402/extensions/sign-in-with-x'
import { getAddress, hexlify, randomBytes, Wallet } from 'ethers'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { blockNumber, offerIn, post } from '../testing/plain'
import { startUpstream } from '../testing/upstream'

const rpcUrl = process.env.TEST_EVM_RPC_URL!
const URL = '/v1/84532'

let gateway: TestGateway
let checks = 0
beforeAll(async () => {
  gateway = await testGateway()
  const node = await startUpstream(async (res, { body }) => {
    if (body.includes('"eth_call"')) checks++
    const answer = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: body.toString(),
    })
    res.setHeader('content-type', 'application/json').end(await answer.text())
  })
  gateway.catalog.providers[0]!.rpc = [node.url]
  await gateway.reapply()
})
afterAll(() => auditAndClose(gateway))
beforeEach(() => (checks = 0))

async function challenge() {
  const { info } = offerIn(await gateway.api.get(URL)).extensions!['sign-in-with-x'] as {
    info: Omit<CompleteSIWxInfo, 'chainId' | 'type'>
  }
  return { ...info, chainId: 'eip155:84532', type: 'eip191' as const }
}
type Challenge = Awaited<ReturnType<typeof challenge>>

const send = (proof: object) => post(gateway.api, URL, blockNumber, { 'sign-in-with-x': encodeJson(proof) })
const garbage = (info: Challenge) => ({
  ...info,
  address: getAddress(hexlify(randomBytes(20))),
  signature: `${hexlify(randomBytes(64))}1b`,
})

async function contractWallet() {
  const owner = new Wallet(Wallet.createRandom().privateKey)
  const address = getAddress(await deploySmartWallet(rpcUrl, owner.address))
  await gateway.fund(address, 1)
  return async () => {
    const info = await challenge()
    return send({ ...info, address, signature: await owner.signMessage(createSIWxMessage(info, address)) })
  }
}

test('a flood of garbage for one challenge costs three checks by nodes, and honest contract wallets are all served', async () => {
  const wallets = await Promise.all(Array.from({ length: 12 }, contractWallet))
  const info = await challenge()
  const flood = Array.from({ length: 200 }, () => send(garbage(info)))
  const served = await Promise.all(wallets.map((call) => call()))
  const refused = await Promise.all(flood)
  expect(served.map(({ status }) => status)).toEqual(wallets.map(() => 200))
  expect(refused.map(({ status }) => status)).toEqual(flood.map(() => 401))
  expect(checks).toBe(12 + 3)
})

test('garbage with invented challenges costs no checks', async () => {
  const info = await challenge()
  const invented = Array.from({ length: 20 }, () => {
    const nonce = hexlify(randomBytes(16)).slice(2)
    return send(garbage({ ...info, nonce }))
  })
  expect((await Promise.all(invented)).map(({ status }) => status)).toEqual(invented.map(() => 401))
  expect(checks).toBe(0)
})
