import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '../testing/closing'
import { callRpc, newPayer, newSigner, ownChain, transactionCount, transfersFrom } from '../testing/chain'
import { newClient, testFacilitator } from '../testing/facilitator'
import { AMOUNT, paymentRequest, type PaymentRequest } from '../testing/payment'

afterAll(closeAll)

/** A facilitator on a chain that nobody else uses. */
async function alone(variables: Record<string, string> = {}) {
  const chain = await ownChain()
  const { rpcUrl } = chain
  const signer = await newSigner(rpcUrl)
  const facilitator = await testFacilitator({ rpcUrl, signerKeys: [signer.privateKey], variables })
  const client = await newClient(facilitator.api)
  const settle = (body: PaymentRequest, headers: object = {}) =>
    facilitator.api
      .post('/api/v1/settle')
      .set({ ...client, ...headers })
      .send(body)
  return { chain, rpcUrl, signer, facilitator, client, settle }
}

describe('while the chain mines nothing', () => {
  test('a settlement is pending in time, and its outcome is told, once, to who asks again', async () => {
    const { rpcUrl, signer, settle, facilitator } = await alone({ SETTLE_WAIT_SECONDS: '2' })
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    await callRpc(rpcUrl, 'evm_setAutomine', false)
    await callRpc(rpcUrl, 'anvil_setIntervalMining', 0)
  })
})
