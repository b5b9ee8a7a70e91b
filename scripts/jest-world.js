/** Before the first test of a run: a Postgres, a Redis if this machine has one, and a chain with money on it. */
module.exports = async () => {
  const { startTestWorld } = require('@tollgate/devnet')
  const { redisUrl } = await startTestWorld()
  console.log(redisUrl ? `Redis at ${redisUrl}` : 'no redis-server on PATH: the in-process store is used')
}
