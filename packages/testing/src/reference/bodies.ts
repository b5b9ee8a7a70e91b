import { type OpenApiDocument } from '@tollgate/service'
import fc from 'fast-check'
import { type Contract } from './contract'
import { spoiled } from './hostile'
import { valuesOf } from './values'

const RUNS = 1_000

/**
 * Tries bodies of a shared schema, whole, in part and with one thing wrong: what it allows is taken, and nothing else.
 * Answers how many it did not allow. Left out are those that `isTried` leaves out, of which more is said in words.
 *
 * @throws Error with the smallest body that was found on which schema and `isTaken` differ
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
