import { type ObserveRequest } from '@tollgate/chains'
import { type Span } from '@tollgate/service'
import { type Network } from './network'

/** The network, with a span within `step` for each request to its nodes. Of a node's URL it has the host only. */
export function withNodeSpans(network: Network, step: Span | undefined): Network {
  if (!step) return network
  const observe: ObserveRequest = (method) => {
    const span = step.child(method, {
      kind: 'client',
      attributes: { 'rpc.system': 'jsonrpc', 'rpc.method': method },
    })
    return ({ node, isError }) => {
      if (node !== undefined) span.set({ 'server.address': node })
      if (isError) span.fail(node === undefined ? 'no_response' : 'rpc_error')
      span.end()
    }
  }
  return { ...network, chain: { ...network.chain, ...network.chain.observed(observe) } }
}
