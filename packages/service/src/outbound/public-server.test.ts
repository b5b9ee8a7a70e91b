import { problemOfServer } from './public-server'

const STRONG = 'f2c1a0d94b7e4c5f8a3b'

test.each([
  ['postgresql://user:postgres@db.example/gateway', /easy to guess/],
  ['postgresql://user:p%6Fstgres@8.8.8.8/gateway', /easy to guess/],
  ['postgres://user@DB.example:5432/gateway', /no password/],
  ['postgresql://user:@[2606:4700::1111]/gateway', /no password/],
  ['postgresql://user:secret@localhost/gateway?host=db.example', /easy to guess/],
  [`postgresql://user:${STRONG}@db.example/gateway?password=postgres`, /easy to guess/],
  ['postgresql://user:postgres@134744072/gateway', /easy to guess/],
  [`redis://:${STRONG}@redis.example:6379/0`, /^redis:\/\/ to a public host/],
  ['redis://8.8.8.8', /^redis:\/\/ to a public host/],
  ['rediss://redis.example:6379/0', /no password/],
  ['rediss://:redis@redis.example:6379/0', /easy to guess/],
])('refuses %s', (url, problem) => expect(problemOfServer(url)).toMatch(problem))

test.each([
  'postgresql://tollgate:tollgate@postgres:5432/gateway',
  'postgresql://tollgate@127.0.0.1/gateway',
  'postgresql://tollgate:postgres@postgres.databases.svc.cluster.local/gateway',
  'postgresql://tollgate:postgres@10.0.0.5/gateway',
  'postgresql://tollgate:postgres@[fd00::1]/gateway',
  'postgresql://tollgate@%2Fvar%2Frun%2Fpostgresql/gateway',
  'postgresql://tollgate@localhost/gateway?host=/var/run/my.sockets',
  `postgresql://tollgate:${STRONG}@db.example/gateway`,
  'postgresql://tollgate@db.example/gateway?sslmode=verify-full&sslcert=/etc/client.pem&sslkey=/etc/client.key',
  'redis://redis:6379/0',
  'redis://redis.tollgate.svc:6379/0',
  'redis://192.168.1.2',
  `rediss://:${STRONG}@redis.example:6379/0`,
  'no url',
])('takes %s', (url) => expect(problemOfServer(url)).toBeUndefined())
