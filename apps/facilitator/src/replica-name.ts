import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/** `application_name` of Postgres has room for it behind a prefix. */
const MAX_HOST = 44

/** The host, which is the pod on Kubernetes, and a random part: a host can run several replicas. */
export const createReplicaName = (host = hostname()) =>
  `${host.slice(0, MAX_HOST).replace(/[^\x21-\x7e]/g, '-')}-${randomBytes(3).toString('hex')}`
