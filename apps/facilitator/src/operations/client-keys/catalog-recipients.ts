import { readFileSync } from 'node:fs'
import { UsageError } from '@tollgate/service'
import { parse, YAMLParseError } from 'yaml'
import { z } from 'zod'

/** As much of the gateway's catalog as says who is paid, and where. */
const Catalog = z.object({
  plans: z.array(z.object({ network: z.string().min(1).max(64), pay_to: z.string().min(1).max(128) })),
})

/** Where each plan of the gateway's catalog is paid. Inactive plans count: payments to them may be unsettled. */
export function recipientsIn(path: string): { network: string; address: string }[] {
  const { data } = Catalog.safeParse(load(path))
  if (!data) throw new UsageError(`--catalog ${path} needs "plans", each with "network" and "pay_to"`)
  return data.plans.map(({ network, pay_to: address }) => ({ network, address }))
}

function load(path: string): unknown {
  try {
    // As plain text: YAML would turn unquoted addresses into numbers.
    return parse(readFileSync(path, 'utf8'), { schema: 'failsafe' })
  } catch (error) {
    const reason = error instanceof YAMLParseError ? 'is not YAML' : 'cannot be read'
    throw new UsageError(`--catalog ${path} ${reason}`)
  }
}
