module.exports = async () => {
  const { startTestWorld } = require('@tollgate/devnet')
  const { redisUrl } = await startTestWorld()
  console.log(redisUrl ? `Redis at ${redisUrl}` : 'no redis-server on PATH: the in-process store is used')
}
