/** Members of `extensions` in a 402 of x402 version 2, by the extension's name. */
export type Extensions = Readonly<Record<string, object>>

/** The dialect of every schema of an extension. */
export const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
