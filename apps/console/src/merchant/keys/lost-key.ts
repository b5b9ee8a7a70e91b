import { type ClientKey } from '@tollgate/protocol'

type Listed = Pick<ClientKey, 'clientId' | 'title'>

/** The key that a request created whose answer was lost. `known`: the keys that were listed before. */
export const findLostKey = <Key extends Listed>(
  title: string,
  known: readonly Listed[],
  listed: readonly Key[],
): Key | undefined =>
  listed.find((key) => key.title === title && !known.some(({ clientId }) => clientId === key.clientId))
