import { type EncodeObject } from '@cosmjs/proto-signing'
import { StargateClient } from '@cosmjs/stargate'
import { COSMOS_CHAIN_ID } from '@tollgate/cosmos-devchain'
import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { MsgRevokeAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc } from './chain'
import {
  COSMOS_AMOUNT,
  COSMOS_FEE,
  cosmosNetwork,
  cosmosRequest,
  newCosmosWallet,
  ownCosmosChain,
  signSend,
  type CosmosChanges,
  type CosmosRequest,
  type CosmosWallet,
} from './cosmos'
import { type NetworkConfiguration } from '../networks/settings'
import { newClient, testFacilitator, type TestOptions } from './facilitator'
import { hashOf, txOf } from './forged-cosmos'

const PATIENCE_MS = 40_000

type Options = TestOptions & {
  gaslessMaxFee?: bigint | undefined
  maxFeesPerDay?: bigint
  /** More settings of the network, such as other nodes. */
  network?: (rpcUrl: string) => Promise<Partial<NetworkConfiguration>>
}

/** An own Cosmos chain, an account on it that pays fees, and facilitators with its key. */
export async function onGaslessChain(options: Options = {}) {
  const { gaslessMaxFee, maxFeesPerDay, network, ...rest } = { gaslessMaxFee: 10_000n, ...options }
  const chain = await ownCosmosChain()
  const { rpcUrl } = chain
  const granter = await newCosmosWallet(rpcUrl, 1_000_000_000n)
  const more = await network?.(rpcUrl)
  const changes = { gaslessMaxFee, ...(maxFeesPerDay === undefined ? {} : { maxFeesPerDay }), ...more }
  const networks = [cosmosNetwork(rpcUrl, granter, changes)]
  const facilitator = await testFacilitator({ networks, ...rest })
  const client = await newClient(facilitator.api)
  const { pool } = facilitator.database
  type Facilitator = Pick<typeof facilitator, 'database'>

  const post = async <T>(path: string, body: CosmosRequest, { api }: Pick<typeof facilitator, 'api'>) =>
    (await api.post(`/api/v1/${path}`).set(client).send(body).expect(200)).body as T

  const rows = async (what: string, { database }: Facilitator = facilitator) => {
    const { rows: found } = await database.pool.query<{ count: bigint }>(`SELECT count(*) FROM ${what}`)
    return Number(found[0]?.count)
  }

  const settle = (body: CosmosRequest, at = facilitator) => post<SettleResult>('settle', body, at)

  const stargate = await StargateClient.connect(rpcUrl)
  const sequenceOf = async ({ address }: CosmosWallet): Promise<number> =>
    (await stargate.getSequence(address)).sequence
  const broadcast = (tx: Uint8Array): Promise<string> => stargate.broadcastTxSync(tx)
  const mine = () => callRpc(rpcUrl, 'dev_mine', '1')

  async function holding(lock: string, what: () => Promise<void>): Promise<void> {
    const session = await pool.connect()
    try {
      await session.query(`SELECT pg_advisory_lock(hashtextextended($1, 0))`, [lock])
      await what()
    } finally {
      session.release(true)
    }
  }

  async function sendByHand(messages: EncodeObject[], amount = '5000') {
    const fee = { amount: [{ denom: 'uatom', amount }], gas: '200000' }
    await broadcast(await signSend(rpcUrl, granter, granter.address, { fee, messages }))
    await mine()
  }

  return {
    chain,
    rpcUrl,
    granter,
    facilitator,
    client,
    pool,
    count: rows,

    verify: (body: CosmosRequest, at = facilitator) => post<VerifyResult>('verify', body, at),
    settle,
    /** Repeats the request while the settlement is pending. */
    async settleAtLast(body: CosmosRequest, at = facilitator): Promise<SettleResult> {
      const deadline = performance.now() + PATIENCE_MS
      let result = await settle(body, at)
      while (result.errorReason === 'settlement_pending' && performance.now() < deadline)
        result = await settle(body, at)
      return result
    },

    newPayer: (amount = COSMOS_AMOUNT): Promise<CosmosWallet> => newCosmosWallet(rpcUrl, amount),
    gasless: (payer: CosmosWallet, of: CosmosChanges = {}): Promise<CosmosRequest> =>
      cosmosRequest(rpcUrl, payer, { granter: granter.address, ...of }),

    balance: async (address: string): Promise<bigint> =>
      BigInt((await stargate.getBalance(address, 'uatom')).amount),
    sequenceOf,
    grants: (): Promise<number> => sequenceOf(granter),
    broadcast,
    /** Broadcasts with the granter's own key, bypassing the facilitator; resolves once it is mined. */
    sendByHand,
    /**
     * Revokes a payer's allowance with the granter's own key, bypassing the facilitator; resolves once it is
     * mined.
     */
    revoke(payer: CosmosWallet, amount?: string): Promise<void> {
      const value = MsgRevokeAllowance.fromPartial({ granter: granter.address, grantee: payer.address })
      return sendByHand([{ typeUrl: MsgRevokeAllowance.typeUrl, value }], amount)
    },

    stop: () => chain.setPace('stopped'),
    mine,
    height: async (): Promise<bigint> => BigInt(await stargate.getHeight()),
    /** Makes transactions older than the maximum lag of a node. */
    age: () => pool.query("UPDATE transactions SET signed_at = signed_at - INTERVAL '2 minutes'"),
    /** Blocks signing while `what` runs. */
    beforeAnyFee: (what: () => Promise<void>): Promise<void> => holding(`fees ${COSMOS_CHAIN_ID}`, what),
    /** Blocks the validation of this payer's uatom claims while `what` runs. */
    beforeAnyOf: ({ address }: CosmosWallet, what: () => Promise<void>): Promise<void> =>
      holding(`payer ${COSMOS_CHAIN_ID} uatom ${address}`, what),

    /** Waits until the table (with a condition) has this many rows. */
    async until(what: string, wanted: number, at?: Facilitator): Promise<void> {
      const deadline = performance.now() + PATIENCE_MS
      while ((await rows(what, at)) !== wanted) {
        if (performance.now() > deadline) throw new Error(`there are ${await rows(what, at)} ${what}`)
        await delay(20)
      }
    },

    replica: (own: Record<string, unknown> = {}) =>
      testFacilitator({
        ...facilitator.settings,
        networks: networks.map((one) => ({ ...one, own: { ...one.own, ...own } })),
      }),
    network: COSMOS_CHAIN_ID,
  }
}

type Ground = Awaited<ReturnType<typeof onGaslessChain>>

export async function newPayment(
  on: Ground,
  changes: CosmosChanges = {},
  mode: 'direct' | 'amino' = 'direct',
): Promise<{ payer: CosmosWallet; body: CosmosRequest; hash: string; received: () => Promise<bigint> }> {
  const payer = await newCosmosWallet(on.rpcUrl, 30_000n, mode)
  const body = await cosmosRequest(on.rpcUrl, payer, changes)
  const { payTo } = body.paymentRequirements
  return { payer, body, hash: hashOf(txOf(body)), received: () => on.balance(payTo) }
}

/** A payment with its own fee, accepted by the nodes while no block is produced; its payer has `funds`. */
export async function paymentInWaiting(
  on: Ground,
  { funds = COSMOS_AMOUNT + COSMOS_FEE, ...changes }: CosmosChanges & { funds?: bigint } = {},
) {
  const payer = await on.newPayer(funds)
  const body = await on.gasless(payer, { granter: undefined, ...changes })
  await on.stop()
  expect(await on.settle(body)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  await on.until('transactions', 1)
  return { payer, body, payTo: body.paymentRequirements.payTo }
}
