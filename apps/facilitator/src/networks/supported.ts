import { caip2, type SupportedByFacilitator, type SupportedKindsV2 } from '@tollgate/protocol'
import { type Network } from './network'
import { type Networks } from './networks'

export type ReadSupported = ReturnType<typeof createReadSupported>

/** What is supported now, on the networks that answer, in both x402 versions. */
export function createReadSupported(networks: Networks) {
  return async () => {
    const kinds = await networks.kinds()
    const supported = kinds.flatMap(({ network: name, scheme }) => {
      const network = networks.find(name)
      return network ? [{ scheme, network, id: caip2(network) }] : []
    })
    return {
      kindsV1: supported.map(({ scheme, network }) => ({
        x402Version: 1 as const,
        scheme,
        network: network.name,
        ...extraOf(network),
      })) satisfies SupportedByFacilitator['kinds'],
      kindsV2: supported.map(({ scheme, network, id }) => ({
        x402Version: 2 as const,
        scheme,
        network: id,
        ...extraOf(network),
      })) satisfies SupportedKindsV2['kinds'],
      extensions: await extensionsOf(supported.map(({ network }) => network)),
      signers: Object.fromEntries(supported.map(({ network, id }) => [id, payersOf(network)])),
    }
  }
}

/** Payers that sign whole transactions name the fee payer in them. */
const extraOf = ({ chain: { payments, signer } }: Network) =>
  payments.sponsorship && signer.feePayer !== undefined
    ? { extra: { feePayer: signer.feePayer, ...(signer.signsForPayers && { feePayerSigns: true }) } }
    : {}

const payersOf = ({ chain: { signer } }: Network) =>
  signer.feePayer === undefined ? [] : [...signer.addresses]

/** Skips networks that do not answer. */
async function extensionsOf(networks: readonly Network[]): Promise<string[]> {
  const extensions = await Promise.all(
    networks.map(({ chain }) => chain.payments.extensions().catch(() => [])),
  )
  return [...new Set(extensions.flat())]
}
