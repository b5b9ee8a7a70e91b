/** A POST. A load sends its requests in turn. */
export type LoadRequest = { path: string; headers: Readonly<Record<string, string>>; body: string }

/** To a server of its own. */
export type AddressedRequest = LoadRequest & { url: string }
