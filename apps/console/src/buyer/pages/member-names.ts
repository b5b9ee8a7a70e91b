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

/** `created_at` becomes `createdAt`. */
export const camelCased = (value: unknown) =>
  renamed(value, (name) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()))

export const snakeCased = (value: unknown) =>
  renamed(value, (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
