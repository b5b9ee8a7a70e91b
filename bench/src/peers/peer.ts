/** A server that runs. `pids`: of the processes whose CPU is its own. */
export type Peer = { name: string; url: string; pids: readonly number[] }

/** Why a peer is left out. */
export type MissingPeer = { missing: string }
