import { type RpcClient } from '@cosmjs/tendermint-rpc'
import { createCaller, type BatchOptions, type Sender } from './adapters/caller.js'
import { TollgateError } from './errors.js'

/** `rpc.max_request_batch_size` of CometBFT, unless the node's operator sets another. */
const COMETBFT_BATCH_SIZE = 10

export type TollgateRpcClientOptions = {
  /** Sends the calls of one moment in one request, by default ten. Default: false. */
  batch?: boolean | BatchOptions | undefined
}

/**
 * For `Comet38Client.create(tollgateRpcClient(tollgate, 'cosmoshub-4'))`, which `StargateClient.create` and
 * `SigningStargateClient.createWithSigner` take. `chain`: `cosmoshub-4` or `cosmos:cosmoshub-4`.
 */
export function tollgateRpcClient(
  tollgate: Sender,
  chain: string,
  { batch = false }: TollgateRpcClientOptions = {},
): RpcClient {
  const { batchSize = COMETBFT_BATCH_SIZE, wait } = typeof batch === 'object' ? batch : {}
  const call = createCaller(tollgate, chain, batch === false ? undefined : { batchSize, wait })
  return {
    async execute({ id, method, params }) {
      const answer = await call({ method, params })
      if ('result' in answer) return { jsonrpc: '2.0', id, result: answer.result }
      // CosmJS's own clients throw this text, and programs look into it.
      throw new TollgateError('RPC_ERROR', JSON.stringify(answer.error), { details: answer.error })
    },
    disconnect: () => undefined,
  }
}
