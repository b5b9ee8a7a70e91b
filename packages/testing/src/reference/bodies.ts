import { type OpenApiDocument } from '@tollgate/service'
import fc from 'fast-check'
import { type Contract } from './contract'
import { spoiled } from './hostile'
import { valuesOf } from './values'

const RUNS = 1_000

/**
 * Compares a shared schema with `isTaken` on valid bodies, parts of them and bodies with one error. Returns
 * the number of rejected bodies. Skips bodies that `isTried` excludes.
 *
 * @throws Error with the smallest body on which they differ
 */
export function tryBodies(options: {
  document: OpenApiDocument
  contract: Contract
  name: string
  isTaken: (body: unknown) => boolean
  isTried: (body: unknown) => boolean
}): number {
  const { document, contract, name, isTaken, isTried } = options
  const schema = { $ref: `#/components/schemas/${name}` }
  const valid = fc.oneof(
    valuesOf(document, schema),
    fc.constantFrom(...(document.components.schemas[name]?.examples ?? [])),
  )
  const inPart = valid.chain((value) =>
    fc.subarray(Object.entries(value as object)).map((members) => Object.fromEntries(members) as unknown),
  )
  let refused = 0
  const bodies = fc.oneof(valid, inPart, valid.chain(spoiled)).filter(isTried)
  fc.assert(
    fc.property(bodies, (value) => {
      const sent: unknown = JSON.parse(JSON.stringify(value))
      const isAllowed = contract.problemsOf(schema, sent, { open: true }).length === 0
      if (!isAllowed) refused++
      if (isAllowed !== isTaken(sent))
        throw new Error(
          `${isAllowed ? 'allowed and refused' : 'taken and not allowed'}: ${JSON.stringify(sent)}`,
        )
    }),
    { numRuns: RUNS },
  )
  return refused
}
