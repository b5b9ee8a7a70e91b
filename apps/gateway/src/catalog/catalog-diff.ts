import { withoutObviousKeys } from './secrets/obvious-key'
import { planFields, type PlanRow, type ProviderRow } from './rows'

export type Change<Row> = { stored: Row | undefined; wanted: Row; lines: string[] }

type Field = keyof typeof planFields

/** Fixed once a wallet has signed in on the plan: past payments are read with them, and sessions are bound to them. */
const fixedFields: readonly Field[] = ['network', 'chain_id', 'ecosystem', 'asset_address', 'decimals']

export function planChanges(stored: readonly PlanRow[], wanted: readonly PlanRow[]): Change<PlanRow>[] {
  const change = (before: PlanRow | undefined, after: PlanRow): Change<PlanRow> => {
    const label = `plan ${after.id}`
    const fields = Object.entries(planFields).map(([field, column]): Difference => [
      field,
      before?.[column],
      after[column],
    ])
    const lines = before
      ? [...activityLines(label, before, after, 'sold again'), ...differenceLines(label, fields)]
      : [`+ ${label} ${JSON.stringify(after.name)}${after.active ? '' : ', not sold'}`]
    return { stored: before, wanted: after, lines }
  }
  const all = [
    ...wanted.map((plan) =>
      change(
        stored.find(({ id }) => id === plan.id),
        plan,
      ),
    ),
    ...stored
      .filter((plan) => !wanted.some(({ id }) => id === plan.id))
      .map((plan) => change(plan, { ...plan, active: false })),
  ]
  return all.filter(hasLines).sort((one, other) => one.wanted.id - other.wanted.id)
}

export const changedFixedFields = ({ stored, wanted }: Change<PlanRow>): string[] =>
  stored ? fixedFields.filter((field) => stored[planFields[field]] !== wanted[planFields[field]]) : []

export function providerChanges(
  stored: readonly ProviderRow[],
  wanted: readonly ProviderRow[],
): Change<ProviderRow>[] {
  const change = (before: ProviderRow | undefined, after: ProviderRow): Change<ProviderRow> => {
    const named = `provider ${JSON.stringify(after.key)} (${after.category}, ${after.chainId})`
    if (!before)
      return { stored: before, wanted: after, lines: [`+ ${named}${after.active ? '' : ', not used'}`] }
    const methods = namesIn(before.methods, after.methods)
    const headers = namesIn(before.headers, after.headers)
    const lines = [
      ...activityLines(named, before, after, 'used again'),
      ...differenceLines(named, [
        ['network', before.network, after.network],
        ['rpc', before.rpc, after.rpc],
        ['rest', before.rest, after.rest],
        ...headers.map((name): Difference => [
          `headers.${name}`,
          before.headers[name] ?? null,
          after.headers[name] ?? null,
        ]),
        ['description', before.description, after.description],
        ['not_served', before.notServed, after.notServed],
        ['position', before.position, after.position],
        ...methods.map((method): Difference => [
          `methods.${method}`,
          weightOf(before, method),
          weightOf(after, method),
        ]),
      ]),
    ]
    return { stored: before, wanted: after, lines }
  }
  return [
    ...wanted.map((provider) => change(stored.find(isSame(provider)), provider)),
    ...stored
      .filter((provider) => !wanted.some(isSame(provider)))
      .map((provider) => change(provider, { ...provider, active: false })),
  ].filter(hasLines)
}

const namesIn = (one: object, other: object) =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()

/** Own properties only: a method may be named `constructor`. */
const weightOf = ({ methods }: ProviderRow, method: string) =>
  Object.hasOwn(methods, method) ? (methods[method] ?? 1) : 1

const isSame = (one: ProviderRow) => (other: ProviderRow) =>
  one.key === other.key && one.category === other.category && one.chainId === other.chainId

const hasLines = ({ lines }: Change<unknown>) => lines.length > 0

type Difference = [field: string, before: unknown, after: unknown]

const differenceLines = (named: string, differences: readonly Difference[]) =>
  differences
    .map(([field, before, after]) => [field, JSON.stringify(before), JSON.stringify(after)] as const)
    .filter(([, before, after]) => before !== after)
    .map(([field, before, after]) => `~ ${named} ${field}: ${shown(before)} -> ${shown(after)}`)

/** The lines go to terminals and logs of jobs, so keys that a catalog has in its URLs are not shown. */
const shown = (json: string): string => json.replaceAll(/https?:[^"]+/g, withoutObviousKeys)

function activityLines(named: string, before: { active: boolean }, after: { active: boolean }, back: string) {
  if (before.active === after.active) return []
  return [after.active ? `+ ${named} ${back}` : `- ${named} retired`]
}
