/** After the last test of a run: nothing of it is left. */
module.exports = async () => {
  const { stopTestWorld } = require('@tollgate/devnet')
  await stopTestWorld()
}
