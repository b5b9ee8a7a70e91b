import { caip2, type Ecosystem } from '@tollgate/protocol'
import { type Logger, type Metrics } from '@tollgate/service'
import { readSecret } from './read-secret'
import { referencesOf, resolveAccess, type Access, type CatalogAccess } from './resolve-access'
import { type Reference } from './secret-references'

type Row = CatalogAccess & { key: string; category: Ecosystem; chainId: string }

/** `kept`: a secret cannot be read any more, and its last value is used. `skipped`: the provider cannot be reached. */
type State = { effect: 'read' } | { effect: 'kept' | 'skipped'; reason: string }
type ProviderState = State & { chain: string; provider: string }

const stateValues = { read: 0, kept: 1, skipped: 2 } as const

export type ProviderSecrets = ReturnType<typeof createProviderSecrets>

/**
 * Reads the secrets of providers each time that the catalog is read, so that a file that is replaced is used within two seconds. A
 * file that is missing or empty while it is replaced leaves the last value in use.
 */
export function createProviderSecrets(parts: {
  variables: Readonly<NodeJS.ProcessEnv>
  isProduction: boolean
  logger: Logger
  metrics: Metrics
}) {
  const { variables, isProduction, logger, metrics } = parts
  let lastValues: ReadonlyMap<Reference, string> = new Map()
  let states: ReadonlyMap<string, ProviderState> = new Map()

  metrics.gauge({
    name: 'tollgate_provider_secret_state',
    help: 'Secrets of a provider: 0 none or read, 1 one cannot be read and its last value is used, 2 the provider is skipped',
    labelNames: ['chain', 'provider'],
    collect() {
      this.reset()
      for (const { chain, provider, effect } of states.values())
        this.set({ chain, provider }, stateValues[effect])
    },
  })

  /** The providers that can be reached, in order. */
  return async <R extends Row>(rows: readonly R[]): Promise<(Omit<R, keyof Access> & Access)[]> => {
    const { values, reasons } = await readAll([...new Set(rows.flatMap(referencesOf))])
    lastValues = values
    const found = new Map<string, ProviderState>()
    const reachable = rows.flatMap((row) => {
      const { key: provider, category: ecosystem, chainId } = row
      const chain = caip2({ ecosystem, chainId })
      const { state, access } = resolve(row, values, reasons)
      found.set(`${chain} ${provider}`, { chain, provider, ...state })
      return access ? [{ ...row, ...access }] : []
    })
    logChanges(states, found)
    states = found
    return reachable
  }

  async function readAll(references: readonly Reference[]) {
    const values = new Map<Reference, string>()
    const reasons = new Map<Reference, string>()
    const read = await Promise.all(references.map((reference) => readSecret(reference, variables)))
    for (const [index, reference] of references.entries()) {
      const secret = read[index]
      if (secret && 'problem' in secret) reasons.set(reference, secret.problem)
      const value = secret && 'value' in secret ? secret.value : lastValues.get(reference)
      if (value !== undefined) values.set(reference, value)
    }
    return { values, reasons }
  }

  function resolve(
    row: Row,
    values: ReadonlyMap<Reference, string>,
    reasons: ReadonlyMap<Reference, string>,
  ): { state: State; access?: Access } {
    const references = referencesOf(row)
    const missing = references.find((reference) => !values.has(reference))
    if (missing !== undefined) return { state: { effect: 'skipped', reason: reasons.get(missing) ?? '' } }
    const resolved = resolveAccess(row, (reference) => values.get(reference) ?? '', { isProduction })
    if ('problem' in resolved) return { state: { effect: 'skipped', reason: resolved.problem } }
    const [reason] = references.flatMap((reference) => reasons.get(reference) ?? [])
    const state: State = reason === undefined ? { effect: 'read' } : { effect: 'kept', reason }
    return { state, access: resolved.access }
  }

  function logChanges(
    before: ReadonlyMap<string, ProviderState>,
    after: ReadonlyMap<string, ProviderState>,
  ): void {
    for (const [key, state] of after) {
      const { chain, provider } = state
      const known = before.get(key)
      if (state.effect === 'read') {
        if (known && known.effect !== 'read') logger.info('provider secrets read', { chain, provider })
        continue
      }
      const { reason } = state
      if (known?.effect === state.effect && known.reason === reason) continue
      if (state.effect === 'skipped') logger.error('provider skipped', { chain, provider, reason })
      else logger.warn('provider secret not read, last value used', { chain, provider, reason })
    }
  }
}
