/** `${env:NAME}` is a variable of the gateway, `${file:/path}` a file that is mounted into it. A secret is never in the catalog itself. */
const REFERENCE = /\$\{(env:[A-Za-z_][A-Za-z0-9_]*|file:\/[^\s{}/][^\s{}]*)\}/g

/** `env:NAME` or `file:/path`. */
export type Reference = string

export const referencesIn = (text: string): Reference[] => [
  ...new Set(Array.from(text.matchAll(REFERENCE), ([, reference = '']) => reference)),
]

export const withSecrets = (text: string, valueOf: (reference: Reference) => string): string =>
  text.replace(REFERENCE, (_, reference: string) => valueOf(reference))

/** Whether nothing but references is written. */
export const isReference = (text: string): boolean => withSecrets(text, () => '') === '' && text !== ''

/** The value `env:NAME` may be written without `${}`, as in the networks file of the facilitator. */
export const asReference = (text: string): string =>
  /^env:[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? `\${${text}}` : text
