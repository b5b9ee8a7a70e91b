import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { transactionCount } from './chain'
import { newClient, testFacilitator, type TestOptions } from './facilitator'

export type FacilitatorWithClient = Awaited<ReturnType<typeof facilitatorWithClient>>

/** A facilitator, and a client key with which payments are verified and settled in version 1. */
export async function facilitatorWithClient(options: TestOptions = {}) {
  const facilitator = await testFacilitator(options)
  const { api, database, signers, settings } = facilitator
  const signer = signers[0]!
  const chainUrl = options.chainUrl ?? settings.rpcUrl
  const client = await newClient(api)

  const post = async (path: string, body: object, headers: object) =>
    (
      await api
        .post(path)
        .set({ ...client, ...headers })
        .send(body)
        .expect(200)
    ).body as object
  const verify = async (body: object, headers: object = {}) =>
    (await post('/api/v1/verify', body, headers)) as VerifyResult
  const settle = async (body: object, headers: object = {}) =>
    (await post('/api/v1/settle', body, headers)) as SettleResult
  const claims = () => database.prisma.settlement.count()
  const sent = () => transactionCount(chainUrl, signer.address)

  return {
    facilitator,
    api,
    pool: database.pool,
    signer,
    client,
    verify,
    settle,
    sent,
    /** Repeats the request while the settlement is pending. */
    async settleAtLast(body: object): Promise<SettleResult> {
      let result = await settle(body)
      while (result.errorReason === 'settlement_pending') result = await settle(body)
      return result
    },
    /** Expects the same reason from verify and settle, no claim, and no gas spent. */
    async expectRefused(body: object, reason: string): Promise<void> {
      const before = [await claims(), await sent()]
      expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: reason, payer: '' })
      expect(await settle(body)).toMatchObject({
        success: false,
        errorReason: reason,
        transaction: '',
        payer: '',
        blockNumber: 0,
      })
      expect([await claims(), await sent()]).toEqual(before)
    },
  }
}
