/** With the names of all members changed, but for those of an event's own payload. */
function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      rename(name),
      name === 'payload' ? (member as unknown) : renamed(member, rename),
    ]),
  )
}

const camelCased = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const snakeCased = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** What the gateway answers, in the shapes of the facilitator: `{data}` is a list, `{data, next}` is a page of deliveries. */
export function fromWire(body: unknown): unknown {
  const answer = renamed(body, camelCased)
  if (!isList(answer)) return answer
  const { data, ...page } = answer
  return 'next' in page ? { deliveries: data, ...page } : data
}

export const toWire = (body: unknown) => renamed(body, snakeCased)

const isList = (value: unknown): value is { data: unknown[] } =>
  typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data)
