/** Text that is HTML already. Only {@link html} makes it. */
export type Html = { readonly text: string; readonly [isHtml]: true }
declare const isHtml: unique symbol

type Content = string | number | Html | undefined | readonly Content[]

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character] ?? '')

const written = (content: Content): string => {
  if (content === undefined) return ''
  if (typeof content === 'string') return escaped(content)
  if (typeof content === 'number') return String(content)
  return 'text' in content ? content.text : content.map(written).join('')
}

/** A template whose values are escaped, for text and for quoted attributes, unless they are HTML made by this function. */
export const html = (parts: TemplateStringsArray, ...values: Content[]): Html =>
  ({ text: parts.map((part, index) => part + written(values[index])).join('') }) as Html

/** What stands between the elements of a list. */
export const joined = (contents: readonly Html[], separator: string): Html =>
  html`${contents.map((content, index) => [index === 0 ? '' : separator, content])}`
