import { caip2, type PaymentPayloadV2, SettleRequestV2, type SupportedKindsV2 } from '@tollgate/protocol'
import { parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Network } from '../networks/network'
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
      const { accepted } = paymentPayload
      const { extra, ...required } = paymentRequirements
      return {
        network: required.network,
        required: { ...required, ...(extra ? { extra } : {}) },
        accepted,
        payload: signedIn(paymentPayload),
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

    /** The networks that answer now, who settles on them, and the extensions that they offer. */
    async supported(_req: Request, res: Response) {
      const kinds = await networks.kinds()
      const served = kinds.flatMap(({ network, scheme }) => {
        const found = networks.find(network)
        return found ? [{ scheme, found, id: caip2(found) }] : []
      })
      res.json({
        kinds: served.map(({ scheme, found, id }) => ({
          x402Version: 2,
          scheme,
          network: id,
          ...extraOf(found),
        })),
        extensions: await extensionsOf(served.map(({ found }) => found)),
        signers: Object.fromEntries(served.map(({ found, id }) => [id, payersOf(found)])),
      } satisfies SupportedKindsV2)
    },
  }
}

/** Where payers sign whole transactions, they name in them who pays the fee. */
const extraOf = ({ chain: { sponsorship, feePayer } }: Network) =>
  sponsorship && feePayer !== undefined ? { extra: { feePayer } } : {}

const payersOf = ({ chain: { signers, feePayer } }: Network) => (feePayer === undefined ? [] : [...signers])

const GAS_SPONSORING = 'eip2612GasSponsoring'

/** What the payer signed; by Permit2 it may bring the token's own permit along, which version 2 has as an extension. */
function signedIn({ payload, extensions }: PaymentPayloadV2): unknown {
  const sponsoring = extensions?.[GAS_SPONSORING] ?? undefined
  return typeof payload === 'object' && 'permit2Authorization' in payload && sponsoring !== undefined
    ? { ...payload, [GAS_SPONSORING]: sponsoring }
    : payload
}

/** The extensions that some network offers; one that gives no answer now offers none. */
async function extensionsOf(served: readonly Network[]): Promise<string[]> {
  const offered = await Promise.all(served.map(({ chain }) => chain.extensions().catch(() => [])))
  return [...new Set(offered.flat())]
}
