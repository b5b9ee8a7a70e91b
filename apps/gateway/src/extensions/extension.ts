/** Members of `extensions` in a 402 of x402 version 2, by the extension's name. */
export type Extensions = Readonly<Record<string, object>>
