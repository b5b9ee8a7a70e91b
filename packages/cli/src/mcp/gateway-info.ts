import { type Plan, type Tollgate } from '@tollgate/wallet'
import { z } from 'zod'
import { readBounded } from './bounded-body'
import { networkOf } from '../amounts'
import { ToolError } from './failure'

export type Chain = {
  chain: string
  name: string | null
  ecosystem: string
  chain_id: string
  transports: string[]
  method_credits: Record<string, number>
  not_served: string[]
}

const TIMEOUT_MS = 20_000
const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024

const Providers = z.object({
  data: z.array(z.object({ category: z.string(), chain_id: z.string(), network: z.string() })),
})

/** A document of the gateway. @throws ToolError UNREACHABLE, GATEWAY_ERROR */
export async function readDocument({ url }: Tollgate, path: string, signal: AbortSignal): Promise<string> {
  const init = {
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  } as const
  const answer = await fetch(`${url}${path}`, init).catch(() => {
    throw new ToolError('UNREACHABLE', `The gateway did not answer ${path}`, 'Call again later.')
  })
  const { bytes, isCut } = await readBounded(answer, MAX_DOCUMENT_BYTES)
  if (!answer.ok || isCut)
    throw new ToolError(
      'GATEWAY_ERROR',
      `The gateway answered ${path} with ${answer.status}${isCut ? ', cut off or too long' : ''}`,
      'Ask the user to check the URL of the gateway.',
    )
  return bytes.toString('utf8')
}

/** The chains that the gateway serves, with their names where it gives them. */
export async function listChains(
  tollgate: Tollgate,
  plans: readonly Plan[],
  signal: AbortSignal,
): Promise<Chain[]> {
  const names = await chainNames(tollgate, signal)
  const chains = new Map<string, Chain>()
  for (const { ecosystem, chain_id, transports, method_credits, not_served } of plans.flatMap(
    ({ calls }) => calls,
  )) {
    const chain = networkOf({ ecosystem, chain_id })
    const name = names.get(`${ecosystem} ${chain_id}`) ?? null
    chains.set(chain, { chain, name, ecosystem, chain_id, transports, method_credits, not_served })
  }
  return [...chains.values()]
}

async function chainNames(tollgate: Tollgate, signal: AbortSignal): Promise<Map<string, string>> {
  try {
    const { data } = Providers.parse(JSON.parse(await readDocument(tollgate, '/providers', signal)))
    return new Map(data.map(({ category, chain_id, network }) => [`${category} ${chain_id}`, network]))
  } catch {
    return new Map()
  }
}

/** By its CAIP-2 id, its own id, or its name, as in the gateway's URLs. @throws ToolError UNKNOWN_CHAIN */
export function findChain(chains: readonly Chain[], text: string): Chain {
  const found = chains.find(({ chain, chain_id, name }) => [chain, chain_id, name].includes(text))
  if (found) return found
  const list = chains.map(({ chain, name }) => (name === null ? chain : `${chain} (${name})`)).join(', ')
  throw new ToolError('UNKNOWN_CHAIN', 'The gateway does not serve this chain', `It serves: ${list}.`)
}
