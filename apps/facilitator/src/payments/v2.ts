import { caip2, SettleRequestV2, type SupportedKindsV2 } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Networks } from '../networks/networks'
import { checkVersions, hashOf, type Dialect } from './dialect'
import { type Facilitator } from './facilitator'
import { createPaymentHandlers } from './handlers'

/** x402 version 2 over the same engine: networks as CAIP-2, and a payload that says what its payer agreed to. */
export function createPaymentHandlersV2(facilitator: Facilitator, networks: Networks) {
  const v2: Dialect = {
    read(body) {
      const problem = checkVersions(body, 2)
      if (problem) return problem
      const { paymentPayload, paymentRequirements } = parse(SettleRequestV2, body)
      const { payload, accepted } = paymentPayload
      refusePermit2(payload)
      const { extra, ...required } = paymentRequirements
      return {
        network: required.network,
        required: { ...required, ...(extra ? { extra } : {}) },
        accepted,
        payload,
        requestHash: hashOf(paymentPayload, paymentRequirements),
      }
    },
    spell(name) {
      const network = networks.find(name)
      return network ? caip2(network) : name
    },
  }

  return {
    ...createPaymentHandlers(facilitator, v2),

    /** The networks that answer now, and who settles on them. */
    async supported(_req: Request, res: Response) {
      const kinds = await networks.kinds()
      const served = kinds.flatMap(({ network, scheme }) => {
        const found = networks.find(network)
        return found ? [{ scheme, id: caip2(found), signers: [...found.chain.signers] }] : []
      })
      res.json({
        kinds: served.map(({ scheme, id }) => ({ x402Version: 2, scheme, network: id })),
        extensions: [],
        signers: Object.fromEntries(served.map(({ id, signers }) => [id, signers])),
      } satisfies SupportedKindsV2)
    },
  }
}

/** The other way to pay by version 2's schemes `exact` and `upto`: its payer signs for a contract that we do not call. */
function refusePermit2(payload: unknown) {
  if (typeof payload === 'object' && payload !== null && 'permit2Authorization' in payload)
    throw new ApiError(
      'INVALID_PAYLOAD',
      'Permit2 payments are not taken; sign an EIP-3009 authorization (extra.assetTransferMethod "eip3009") instead',
    )
}
