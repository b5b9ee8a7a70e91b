import { caip2, SettleRequestV2, signedPayloadOf, type SupportedKindsV2 } from '@tollgate/protocol'
import { parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Network } from '../../networks/network'
import { type Networks } from '../../networks/networks'
import { checkVersions, hashOf, type X402Version } from './version'
import { createPaymentHandlers, type PaymentOperations } from '../handlers'

/** x402 version 2: networks are CAIP-2 ids, and the payload repeats the requirements that the payer accepted. */
export function createPaymentHandlersV2(operations: PaymentOperations, networks: Networks) {
  const v2: X402Version = {
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
        requestHash: hashOf(paymentPayload, paymentRequirements),
      }
    },
    spell(name) {
      const network = networks.find(name)
      return network ? caip2(network) : name
    },
  }

  return {
    ...createPaymentHandlers(operations, v2),

    async supported(_req: Request, res: Response) {
      const kinds = await networks.kinds()
      const supported = kinds.flatMap(({ network: name, scheme }) => {
        const network = networks.find(name)
        return network ? [{ scheme, network, id: caip2(network) }] : []
      })
      res.json({
        kinds: supported.map(({ scheme, network, id }) => ({
          x402Version: 2,
          scheme,
          network: id,
          ...extraOf(network),
        })),
        extensions: await extensionsOf(supported.map(({ network }) => network)),
        signers: Object.fromEntries(supported.map(({ network, id }) => [id, payersOf(network)])),
      } satisfies SupportedKindsV2)
    },
  }
}

/** Payers that sign whole transactions name the fee payer in them. */
const extraOf = ({ chain: { payments, signer } }: Network) =>
  payments.sponsorship && signer.feePayer !== undefined ? { extra: { feePayer: signer.feePayer } } : {}

const payersOf = ({ chain: { signer } }: Network) =>
  signer.feePayer === undefined ? [] : [...signer.addresses]

/** Skips networks that do not answer. */
async function extensionsOf(networks: readonly Network[]): Promise<string[]> {
  const extensions = await Promise.all(
    networks.map(({ chain }) => chain.payments.extensions().catch(() => [])),
  )
  return [...new Set(extensions.flat())]
}
