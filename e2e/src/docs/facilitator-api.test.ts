import { startWorld, walletAt } from '../testing/world'
import { describeDocument } from './trial'

describeDocument('docs/api/facilitator.md', ['bash'], async (closeLater) => {
  const world = await startWorld()
  closeLater(() => world.stop())
  return {
    serviceUrl: world.facilitator.url,
    variables: (url) => ({
      FACILITATOR: url,
      PRIVATE_KEY: walletAt(0).privateKey,
      ADMIN_TOKEN: world.secrets.adminToken,
    }),
  }
})
