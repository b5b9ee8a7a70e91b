import { randomBytes } from 'node:crypto'

export type ClientKey = { id: string; token: string }

/** Where a program finds its client key: a Secret of Kubernetes, or an env file. */
export type KeyPlace = {
  /** For people. */
  name: string
  /** `write` returns false, and changes nothing, if the place has changed since. @throws KeyPlaceError */
  read: () => Promise<{ key: ClientKey | undefined; write: (key: ClientKey) => Promise<boolean> }>
}

export class KeyPlaceError extends Error {}

/** The variables that the gateway reads. */
export const ID_VARIABLE = 'FACILITATOR_CLIENT_ID'
export const TOKEN_VARIABLE = 'FACILITATOR_CLIENT_TOKEN'

const newClientKey = (): ClientKey => ({
  id: `client_${randomBytes(12).toString('hex')}`,
  token: randomBytes(32).toString('base64url'),
})

/** @throws KeyPlaceError if only half a key is there, or one that no program could have made */
export function keyFrom(place: string, id: string, token: string): ClientKey | undefined {
  if (id === '' && token === '') return undefined
  if (id === '' || token === '')
    throw new KeyPlaceError(
      `${place} has only one of ${ID_VARIABLE} and ${TOKEN_VARIABLE}; add the other, or delete both for a new key`,
    )
  if (!/^[\w-]{1,128}$/.test(id) || !/^[\x21-\x7e]{32,256}$/.test(token))
    throw new KeyPlaceError(
      `${place} has an invalid key: ${ID_VARIABLE} must have 1 to 128 letters, digits, _ and -, and ${TOKEN_VARIABLE} 32 to 256 characters of ASCII without spaces`,
    )
  return { id, token }
}

const ATTEMPTS = 5

/** `register` comes before the key replaces another one; `discard` undoes it if the place changed meanwhile. */
export type Rotation = {
  register: (key: ClientKey, replaced: string) => Promise<unknown>
  discard: (id: string) => Promise<unknown>
}

/**
 * The key at `place`, made and written if there is none. Concurrent calls return the same key. With a `rotation` it replaces the key
 * that is there, whose id is returned as `replaced`: a program that reads the place finds a registered key at any moment.
 */
export async function findOrMakeKey(
  place: KeyPlace,
  rotation: Rotation | undefined,
): Promise<{ key: ClientKey; isNew: boolean; replaced: string | undefined }> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { key, write } = await place.read()
    // After a lost race the key is already new.
    if (key && !(rotation && attempt === 0)) return { key, isNew: false, replaced: undefined }
    const made = newClientKey()
    if (key) await rotation?.register(made, key.id)
    if (await write(made)) return { key: made, isNew: true, replaced: key?.id }
    if (key) await rotation?.discard(made.id)
  }
  throw new KeyPlaceError(`${place.name} was changed by others ${ATTEMPTS} times in a row; try again`)
}
