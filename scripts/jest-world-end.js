module.exports = async () => {
  const { stopTestWorld } = require('@tollgate/devnet')
  await stopTestWorld()
}
