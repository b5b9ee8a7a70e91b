import { caip2, SettleRequestV2, signedPayloadOf, type SupportedKindsV2 } from '@tollgate/protocol'
import { parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { readDeclarationsV2 } from '../../catalog/declaration'
import { type Networks } from '../../networks/networks'
import { type ReadSupported } from '../../networks/supported'
import { paymentIdentifierOf } from './payment-identifier'
import { checkVersions, hashOf, storableName, type X402Version } from './version'
import { createPaymentHandlers, type PaymentOperations } from '../handlers'

/** x402 version 2: networks are CAIP-2 ids, and the payload repeats the requirements that the payer accepted. */
export function createPaymentHandlersV2(
  operations: PaymentOperations,
  networks: Networks,
  readSupported: ReadSupported,
) {
  const v2: X402Version = {
    number: 2,
    read(body) {
      const wrongVersion = checkVersions(body, 2)
      if (wrongVersion) return wrongVersion
      const { paymentPayload, paymentRequirements } = parse(SettleRequestV2, body)
      const { accepted } = paymentPayload
      const { extra, ...required } = paymentRequirements
      return {
        network: required.network,
        required: { ...required, ...(extra ? { extra } : {}) },
        accepted,
        payload: signedPayloadOf(paymentPayload),
        resource: storableName(paymentPayload.resource?.url),
        paymentIdentifier: paymentIdentifierOf(paymentPayload),
        requestHash: hashOf(paymentPayload, paymentRequirements),
      }
    },
    readDeclarations: readDeclarationsV2,
    spell(name) {
      const network = networks.find(name)
      return network ? caip2(network) : name
    },
  }

  return {
    ...createPaymentHandlers(operations, v2),

    async supported(_req: Request, res: Response) {
      const { kindsV2, extensions, signers } = await readSupported()
      res.json({ kinds: kindsV2, extensions, signers } satisfies SupportedKindsV2)
    },
  }
}
