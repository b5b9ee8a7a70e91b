import { type TestGateway } from './gateway'

/** As if the refresh tokens had been used that much earlier. */
export const makeUsesOlder = ({ pool }: Pick<TestGateway, 'pool'>, seconds: number) =>
  pool.query(
    'UPDATE refresh_tokens SET used_at = used_at - make_interval(secs => $1) WHERE used_at IS NOT NULL',
    [seconds],
  )
