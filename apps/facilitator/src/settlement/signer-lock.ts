import { caip2, type NetworkName } from '@tollgate/protocol'

/** The advisory lock whose holder leads the signer. */
export const signerLockName = (network: NetworkName, signer: string) => `settler ${caip2(network)} ${signer}`

const PREFIX = 'settler of '

/** The `application_name` of a session that waits for such locks or holds them. Postgres keeps 63 bytes. */
export const leaderSessionName = (replica: string) => `${PREFIX}${replica}`

/** The replica of such a session; undefined for any other, such as one of a release without names. */
export const replicaOfSession = (applicationName: string): string | undefined =>
  applicationName.startsWith(PREFIX) ? applicationName.slice(PREFIX.length) : undefined
