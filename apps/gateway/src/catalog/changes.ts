import { planFields, type PlanRow, type ProviderRow } from './rows'

/** What makes the row that is stored the one that is wanted: told in lines, and written if there are any. */
export type Change<Row> = { stored: Row | undefined; wanted: Row; lines: string[] }

type Field = keyof typeof planFields

/**
 * What credits of a plan were bought with. Payments of the past are read with these, the client that sends one again is
 * known by them, and sessions are bound to them: once somebody has signed in on a plan, they stay.
 */
const fixedFields: readonly Field[] = ['network', 'chain_id', 'ecosystem', 'asset_address', 'decimals']

/** From the plans that are stored to those of a file, in the order of their ids; what the file leaves out is retired. */
export function planChanges(stored: readonly PlanRow[], wanted: readonly PlanRow[]): Change<PlanRow>[] {
  const change = (before: PlanRow | undefined, after: PlanRow): Change<PlanRow> => {
    const named = `plan ${after.id}`
    const fields = Object.entries(planFields).map(([field, column]): Difference => [
      field,
      before?.[column],
      after[column],
    ])
    const lines = before
      ? [...activity(named, before, after, 'sold again'), ...told(named, fields)]
      : [`+ ${named} ${JSON.stringify(after.name)}${after.active ? '' : ', not sold'}`]
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
  return all.filter(isOne).sort((one, other) => one.wanted.id - other.wanted.id)
}

/** Those of a change's fields that stay as they are once the plan was used. */
export const fixedIn = ({ stored, wanted }: Change<PlanRow>): string[] =>
  stored ? fixedFields.filter((field) => stored[planFields[field]] !== wanted[planFields[field]]) : []

/** From the providers that are stored to those of a file; what the file leaves out is retired. */
export function providerChanges(
  stored: readonly ProviderRow[],
  wanted: readonly ProviderRow[],
): Change<ProviderRow>[] {
  const change = (before: ProviderRow | undefined, after: ProviderRow): Change<ProviderRow> => {
    const named = `provider ${JSON.stringify(after.key)} (${after.category}, ${after.chainId})`
    if (!before)
      return { stored: before, wanted: after, lines: [`+ ${named}${after.active ? '' : ', not used'}`] }
    const methods = [...new Set([...Object.keys(before.methods), ...Object.keys(after.methods)])].sort()
    const lines = [
      ...activity(named, before, after, 'used again'),
      ...told(named, [
        ['rpc', before.rpc, after.rpc],
        ['rest', before.rest, after.rest],
        ['description', before.description, after.description],
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
  ].filter(isOne)
}

/** Its own: a method may be called `constructor`. */
const weightOf = ({ methods }: ProviderRow, method: string) =>
  Object.hasOwn(methods, method) ? (methods[method] ?? 1) : 1

const isSame = (one: ProviderRow) => (other: ProviderRow) =>
  one.key === other.key && one.category === other.category && one.chainId === other.chainId

const isOne = ({ lines }: Change<unknown>) => lines.length > 0

/** A field, what it held and what it is to hold. */
type Difference = [field: string, before: unknown, after: unknown]

const told = (named: string, differences: readonly Difference[]) =>
  differences
    .map(([field, before, after]) => [field, JSON.stringify(before), JSON.stringify(after)] as const)
    .filter(([, before, after]) => before !== after)
    .map(([field, before, after]) => `~ ${named} ${field}: ${before} -> ${after}`)

function activity(named: string, before: { active: boolean }, after: { active: boolean }, back: string) {
  if (before.active === after.active) return []
  return [after.active ? `+ ${named} ${back}` : `- ${named} retired`]
}
