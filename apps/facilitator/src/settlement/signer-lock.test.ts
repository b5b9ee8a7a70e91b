import { createReplicaName } from '../replica-name'
import { leaderSessionName, replicaOfSession } from './signer-lock'

/** Postgres cuts `application_name` after 63 bytes. */
test('the name of a replica on a host with a long name survives in its session', () => {
  const host = `facilitator-${'x'.repeat(60)}`
  const replica = createReplicaName(host)
  expect(replica).not.toBe(createReplicaName(host))
  expect(replicaOfSession(leaderSessionName(replica).slice(0, 63))).toBe(replica)
})

test('a session of another kind has no replica', () => {
  expect(replicaOfSession('tollgate-facilitator')).toBeUndefined()
})
