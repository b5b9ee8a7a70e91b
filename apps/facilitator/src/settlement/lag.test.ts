import { type Chain } from '@tollgate/chains'
import { closeAll } from '@tollgate/testing'
import { callRpc, newPayer, ownChain, transfersFrom } from '../testing/chain'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { startLaggingNode } from '../testing/failing-node'
import { faulty, type Faults } from '../testing/faulty'
import { paymentRequest } from '../testing/payment'
import { outbid } from '../testing/third-party'

const AN_HOUR = 3_600

afterAll(closeAll)

/** Whether the node that lags answers a request that asks these. */
type Lag = (methods: readonly string[]) => boolean
type Lagging = { blocks: number; requests: number }

const asks = (methods: readonly string[], ...some: string[]) => some.some((one) => methods.includes(one))

/** Where the chain stands and what state it is in, other than what became of a transaction. */
const heightAndState: Lag = (methods) =>
  asks(methods, 'eth_blockNumber', 'eth_call') &&
  !asks(methods, 'eth_getTransactionReceipt', 'eth_getBlockByNumber')

const everything: Lag = () => true

/** A payment, and a facilitator whose chain mines on demand and has two nodes behind its URL. */
async function onLaggingChain(lag: Lag, fault: (chain: Chain, lagging: Lagging) => Faults = () => ({})) {
  const { rpcUrl } = await ownChain({ blockTime: AN_HOUR })
  /** How far the other node is behind, and for how many requests more. */
  const lagging: Lagging = { blocks: 0, requests: 0 }
  const url = await startLaggingNode(rpcUrl, (methods) => {
    if (lagging.requests === 0 || !lag(methods)) return 0
    lagging.requests--
    return lagging.blocks
  })
  const { signer, ...facilitator } = await facilitatorWithClient({
    rpcUrl: url,
    chainUrl: rpcUrl,
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
    families: faulty((chain) => fault(chain, lagging)),
  })
  // There are blocks by whose state the payer has nothing.
  for (let block = 0; block < 2; block++) await callRpc(rpcUrl, 'evm_mine')
  const payer = await newPayer(rpcUrl)
  const body = await paymentRequest(payer)

  /** The transaction reported for the pending payment, once the node has it. */
  async function sent(): Promise<string> {
    for (;;) {
      const { errorReason, transaction } = await facilitator.settle(body)
      expect(errorReason).toBe('settlement_pending')
      if (transaction !== '' && (await callRpc(rpcUrl, 'eth_getTransactionByHash', transaction)) !== null)
        return transaction
    }
  }

  /** The final response, after the node that lags has answered as often as it was to. */
  async function outcome() {
    const told = await facilitator.settleAtLast(body)
    expect(lagging.requests).toBe(0)
    return told
  }
  return { rpcUrl, signer, payer, body, lagging, sent, outcome }
}

describe('a payment that a third party settled is not reported as failed because of a lagging node', () => {
  test.concurrent.each<[string, Lag]>([
    ['height and state', heightAndState],
    ['state', (methods) => asks(methods, 'eth_call')],
    ['events', (methods) => asks(methods, 'eth_getLogs')],
  ])('that lags in %s, where the third party’s transaction precedes ours in the block', async (_, lag) => {
    const { rpcUrl, payer, body, lagging, sent, outcome } = await onLaggingChain(lag)
    const transaction = await sent()
    const theirs = await outbid(rpcUrl, body)
    Object.assign(lagging, { blocks: 1, requests: 3 })
    await callRpc(rpcUrl, 'evm_mine')
    expect(await callRpc(rpcUrl, 'eth_getTransactionReceipt', transaction)).toMatchObject({ status: '0x0' })

    expect(await outcome()).toMatchObject({ success: true, transaction: theirs })
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })

  test.concurrent('where ours lost its nonce and the payment has expired since', async () => {
    const { rpcUrl, signer, body, lagging, sent, outcome } = await onLaggingChain(heightAndState)
    const transaction = await sent()
    const theirs = await outbid(rpcUrl, body)
    const other = { to: signer.address, nonce: 0, gasLimit: 21_000, chainId: 84532, type: 2 }
    const fees = { maxFeePerGas: 50_000_000_000n, maxPriorityFeePerGas: 40_000_000_000n }
    Object.assign(lagging, { blocks: 2, requests: Infinity })
    await callRpc(rpcUrl, 'anvil_dropTransaction', transaction)
    await callRpc(rpcUrl, 'eth_sendRawTransaction', await signer.signTransaction({ ...other, ...fees }))
    await callRpc(rpcUrl, 'evm_mine')
    await callRpc(rpcUrl, 'evm_increaseTime', 120)
    await callRpc(rpcUrl, 'evm_mine')
    lagging.requests = 3

    expect(await outcome()).toMatchObject({ success: true, transaction: theirs })
  })

  test.concurrent('before ours was signed', async () => {
    let looks = 0
    let theirs = ''
    let beFaster = () => Promise.resolve()
    const { rpcUrl, body, outcome } = await onLaggingChain(heightAndState, (chain, lagging) => ({
      payments: {
        async verify(...payment) {
          const verdict = await chain.payments.verify(...payment)
          // Once for the caller, and once more for the claim.
          if (++looks === 1) await beFaster()
          if (looks === 2) Object.assign(lagging, { blocks: 1, requests: 1 })
          return verdict
        },
      },
    }))
    beFaster = async () => {
      theirs = await outbid(rpcUrl, body)
      await callRpc(rpcUrl, 'evm_mine')
    }
    expect(await outcome()).toMatchObject({ success: true, transaction: theirs })
  })
})

test.concurrent('a claimed payment is not refused because of a node that is behind the block of its claim', async () => {
  let looks = 0
  const { rpcUrl, payer, sent, outcome } = await onLaggingChain(everything, (chain, lagging) => ({
    payments: {
      async verify(...payment) {
        const verdict = await chain.payments.verify(...payment)
        if (++looks === 1) Object.assign(lagging, { blocks: 2, requests: 3 })
        return verdict
      },
    },
  }))
  await callRpc(rpcUrl, 'evm_mine')
  const transaction = await sent()
  await callRpc(rpcUrl, 'evm_mine')
  expect(await outcome()).toMatchObject({ success: true, transaction })
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
})
