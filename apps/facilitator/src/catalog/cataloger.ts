import { startInterval, type Logger } from '@tollgate/service'
import { spelled } from '../networks/network'
import { type Networks } from '../networks/networks'
import { type SettlementRequest } from '../payments/versions/version'
import { type CatalogEntry, type CatalogStore } from './catalog-store'
import { catalogUrl } from './catalog-url'
import { type VersionedDeclaration } from './declaration'
import { readServiceMetadata } from './service-metadata'

const FLUSH_INTERVAL_MS = 1_000
/** Further entries are dropped: the next payment of the resource offers it again. */
const MAX_WAITING = 1_000

export type SettledPayment = {
  userId: number
  required: SettlementRequest['required']
  readDeclarations: () => readonly VersionedDeclaration[]
  settledAt: Date
}

/** Of the extension `bazaar`, for the header `EXTENSION-RESPONSES`. */
export type CatalogOutcome = { status: 'processing' } | { status: 'rejected'; rejectedReason: string }

export type Cataloger = ReturnType<typeof createCataloger>

/** Catalogs the resources that settled payments declare, in the background: it neither delays nor fails a settlement. */
export function createCataloger(parts: {
  store: CatalogStore
  networks: Pick<Networks, 'find'>
  isProduction: boolean
  logger: Logger
}) {
  const { store, networks, isProduction, logger } = parts
  const waiting = new Map<string, CatalogEntry>()
  let repeated: ReturnType<typeof startInterval> | undefined

  function entryOf(
    { userId, required, settledAt }: SettledPayment,
    { x402Version, declaration }: VersionedDeclaration,
  ): CatalogEntry | { problem: string } | undefined {
    if (!declaration || 'problem' in declaration) return declaration
    const network = networks.find(required.network)
    const payTo = network?.family.parseAddress(required.payTo)
    if (!network || payTo === undefined) return undefined
    const { url, routeTemplate, type, operation, description, mimeType, service, declared } = declaration
    const urls = catalogUrl(url, routeTemplate, { isProduction })
    if (!urls) return { problem: 'the URL of the resource cannot be listed' }
    return {
      userId,
      x402Version,
      ...urls,
      type,
      operation,
      accepted: {
        scheme: 'exact',
        network: network.name,
        maxAmountRequired: required.amount,
        asset: spelled(network, required.asset),
        payTo,
      },
      details: {
        ...(description ? { description } : {}),
        ...(mimeType ? { mimeType } : {}),
        maxTimeoutSeconds: required.maxTimeoutSeconds,
        ...readServiceMetadata(service),
      },
      declared,
      paidAt: settledAt,
    }
  }

  function wait(entry: CatalogEntry) {
    const key = keyOf(entry)
    if (waiting.size < MAX_WAITING || waiting.has(key)) waiting.set(key, entry)
  }

  /** An entry that cannot be written is dropped, so that it does not hold up the others. */
  async function flush(): Promise<void> {
    for (const [key, entry] of [...waiting]) {
      waiting.delete(key)
      await store.catalog(entry)
    }
  }

  return {
    /** Undefined if the payment declares nothing. Never throws. */
    add(payment: SettledPayment): CatalogOutcome | undefined {
      try {
        const declared = payment
          .readDeclarations()
          .map((declaration) => entryOf(payment, declaration))
          .filter((entry) => entry !== undefined)
        for (const entry of declared) if (!('problem' in entry)) wait(entry)
        const rejected = declared.find((entry) => 'problem' in entry)
        if (rejected) return { status: 'rejected', rejectedReason: rejected.problem }
        return declared.length > 0 ? { status: 'processing' } : undefined
      } catch (error) {
        logger.warn('resource not cataloged', { error })
        return undefined
      }
    },

    flush,

    begin() {
      repeated = startInterval({
        everyMs: FLUSH_INTERVAL_MS,
        work: flush,
        onError: (error) => logger.warn('resource not cataloged', { error }),
      })
    },

    async close() {
      await repeated?.stop()
      await flush().catch((error: unknown) => logger.warn('resource not cataloged', { error }))
    },
  }
}

const keyOf = ({ userId, x402Version, resource, type, operation, accepted }: CatalogEntry) => {
  const { network, asset, payTo } = accepted
  return JSON.stringify([userId, x402Version, resource, type, operation, network, asset, payTo])
}
