const CONTROL = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Have no glyph: they reorder, split or hide the text around them, or carry text that only a program reads. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu

/** A stranger's text as it is listed. Postgres stores no NUL, and terminals obey control characters. */
export const visibleText = (text: string): string => text.replace(CONTROL, ' ').replace(INVISIBLE, '')

/** The same for each text of a JSON object, without the members whose name is not visible. */
export const visibleObject = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object)
      .filter(([name]) => visibleText(name) === name)
      .map(([name, member]) => [name, visible(member)]),
  )

function visible(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value)
  if (Array.isArray(value)) return value.map(visible)
  return typeof value === 'object' && value !== null ? visibleObject(value as Record<string, unknown>) : value
}
