import { type ObserveRequest } from '@tollgate/chains'
import { activeSpan } from '@tollgate/service'

/** A span for a request to the nodes of a network, within a step that is traced. Of the node's URL it has the host only. */
export const traceRequest: ObserveRequest = (method) => {
  const span = activeSpan()?.child(method, {
    kind: 'client',
    attributes: { 'rpc.system': 'jsonrpc', 'rpc.method': method },
  })
  return (
    span &&
    (({ node, isError }) => {
      if (node !== undefined) span.set({ 'server.address': node })
      if (isError) span.fail(node === undefined ? 'no_response' : 'rpc_error')
      span.end()
    })
  )
}
