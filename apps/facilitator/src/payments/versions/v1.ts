import { SettleRequest } from '@tollgate/protocol'
import { parse } from '@tollgate/service'
import { readDeclarationsV1 } from '../../catalog/declaration'
import { checkVersions, hashOf, storableName, type X402Version } from './version'

/** x402 version 1: networks are named as in our configuration, and the payload does not repeat the requirements. */
export const v1: X402Version = {
  number: 1,
  read(body) {
    const wrongVersion = checkVersions(body, 1)
    if (wrongVersion) return wrongVersion
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
      resource: storableName(paymentRequirements.resource),
      paymentIdentifier: null,
      requestHash: hashOf(paymentPayload, paymentRequirements),
    }
  },
  readDeclarations: readDeclarationsV1,
  spell: (network) => network,
}
