/**
 * Differences between the shapes of `came` and `shown`: another type, or a missing member. Each element of a
 * list must resemble one of those shown.
 */
export function differences(shown: unknown, came: unknown, path = 'the answer'): string[] {
  const [shownType, cameType] = [typeOf(shown), typeOf(came)]
  if (shownType !== cameType) return [`${path} is ${cameType}, shown is ${shownType}`]
  if (Array.isArray(shown) && Array.isArray(came)) return ofLists(shown, came, path)
  return cameType === 'object' ? ofObjects(shown as Members, came as Members, path) : []
}

type Members = Record<string, unknown>

const ofObjects = (shown: Members, came: Members, path: string): string[] =>
  [...new Set([...Object.keys(shown), ...Object.keys(came)])].flatMap((name) => {
    if (!Object.hasOwn(came, name)) return [`${path}.${name} did not come`]
    if (!Object.hasOwn(shown, name)) return [`${path}.${name} came and is not shown`]
    return differences(shown[name], came[name], `${path}.${name}`)
  })

function ofLists(shown: unknown[], came: unknown[], path: string): string[] {
  if ((shown.length === 0) !== (came.length === 0))
    return [`${path} has ${came.length} elements, shown are ${shown.length}`]
  return came.flatMap((element, index) =>
    shown
      .map((candidate) => differences(candidate, element, `${path}[${index}]`))
      .reduce((best, next) => (next.length < best.length ? next : best)),
  )
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}
