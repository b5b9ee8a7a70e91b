import { caip2, type Ecosystem } from '@tollgate/protocol'

/** A chain that a provider serves. `network` is its name, or its id if the catalog does not name it. */
export type Chain = { ecosystem: Ecosystem; chainId: string; network: string; caip2: string }

type NamedProvider = { category: Ecosystem; chainId: string; network: string | null }
type NamedPlan = { ecosystem: Ecosystem; chainId: string; network: string }

export type Chains = ReturnType<typeof chainsOf>

/** The chains of the catalog by each of their three names: CAIP-2 id, chain id, network name. An id wins over a name. */
export function chainsOf(providers: readonly NamedProvider[], plans: readonly NamedPlan[]) {
  const chains = new Map<string, Chain>()
  for (const { category: ecosystem, chainId, network } of providers) {
    const id = caip2({ ecosystem, chainId })
    const known = chains.get(id)
    if (known && (known.network !== chainId || network === null)) continue
    const name = network ?? plans.find((plan) => isOn(plan, { ecosystem, chainId }))?.network ?? chainId
    chains.set(id, { ecosystem, chainId, network: name, caip2: id })
  }
  const list = [...chains.values()]
  const byName = new Map<string, Chain>()
  for (const member of ['caip2', 'chainId', 'network'] as const)
    for (const chain of list)
      for (const key of [chain[member], keyIn(chain.ecosystem, chain[member])])
        if (!byName.has(key)) byName.set(key, chain)

  return {
    list,
    find: (text: string): Chain | undefined => byName.get(text),
    /** Of one ecosystem, as two ecosystems may have chains of one id. */
    findIn: (ecosystem: string, text: string): Chain | undefined => byName.get(keyIn(ecosystem, text)),
  }
}

/** No name of a chain begins with a space. */
const keyIn = (ecosystem: string, text: string) => ` ${ecosystem} ${text}`

const isOn = (plan: NamedPlan, { ecosystem, chainId }: Pick<Chain, 'ecosystem' | 'chainId'>) =>
  plan.ecosystem === ecosystem && plan.chainId === chainId
