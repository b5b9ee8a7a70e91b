import { SettleRequest } from '@tollgate/protocol'
import { parse } from '@tollgate/service'
import { checkVersions, hashOf, type Dialect } from './dialect'

/** x402 version 1: networks by our names, and a payload that does not say what its payer agreed to. */
export const v1: Dialect = {
  read(body) {
    const problem = checkVersions(body, 1)
    if (problem) return problem
    const { paymentPayload, paymentRequirements } = parse(SettleRequest, body)
    const { scheme, network, maxAmountRequired, asset, payTo, maxTimeoutSeconds, extra } = paymentRequirements
    return {
      network,
      required: {
        scheme,
        network,
        amount: maxAmountRequired,
        asset,
        payTo,
        maxTimeoutSeconds,
        ...(extra ? { extra } : {}),
      },
      accepted: { scheme: paymentPayload.scheme, network: paymentPayload.network },
      payload: paymentPayload.payload,
      requestHash: hashOf(paymentPayload, paymentRequirements),
    }
  },
  spell: (network) => network,
}
