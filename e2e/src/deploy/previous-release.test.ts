import { previousRelease } from '@tollgate/release'
import { type SettleResult } from '@tollgate/protocol'
import { Wallet } from 'ethers'
import { fundWallet } from '@tollgate/devnet'
import { buildVersion } from '../testing/build-version'
import { newThirdParty } from '../testing/client-keys'
import { newCosmosCustomer, newCustomer, type Customer } from '../testing/customers'
import { call, settleRequest } from '../testing/paying'
import { root, startWorld, type World } from '../testing/world'

const release = previousRelease(root)

/** Migrations come first, and the services follow one by one: meanwhile those of the release before must work. */
const describeIf = release ? describe : describe.skip
describeIf(
  `the services of ${release?.version ?? 'the release before, which this history lacks,'} on the schema of today`,
  () => {
    const closing: (() => Promise<void>)[] = []
    let world: World

    beforeAll(async () => {
      const { root: before } = await buildVersion(release?.commit ?? '', {
        closeLater: (close) => closing.unshift(close),
      })
      world = await startWorld()
      closing.unshift(() => world.stop())
      const facilitator = await world.addFacilitator({ root: before })
      const gateway = await world.addGateway({
        root: before,
        environment: { FACILITATOR_URL: `${facilitator.url}/api/v1` },
      })
      // Otherwise it could lead the signers, and settle for the older one.
      await world.facilitator.stop()
      await world.gateway.stop()
      world = { ...world, facilitator, gateway }
    }, 600_000)

    afterAll(async () => {
      for (const close of closing) await close()
    }, 60_000)

    async function buysAndCalls({ session, pay }: Customer) {
      const asked = await call(world, session.token)
      expect(asked.status).toBe(402)
      const payment = await pay(asked.body)
      expect(await call(world, session.token, payment)).toMatchObject({ status: 200, body: { id: 7 } })
      expect(await call(world, session.token)).toMatchObject({ status: 200 })
    }

    test('a wallet signs in, buys credits and spends them', async () => {
      await buysAndCalls(await newCustomer(world, world.plan))
    })

    test('so does a Cosmos wallet', async () => {
      await buysAndCalls(
        await newCosmosCustomer(world, world.cosmosPlan, { uatom: 20_000n, isSponsored: true }),
      )
    })

    test('a merchant signs up, and settles', async () => {
      const merchant = await newThirdParty(world.facilitator)
      const { clientId, token } = await merchant.newKey()
      const payer = Wallet.createRandom()
      await fundWallet(world.infrastructure.rpcUrl, payer.address, { usdc: 10_000n })
      const body = await settleRequest(payer, Wallet.createRandom().address, 10_000n)
      const answer = await fetch(`${world.facilitator.url}/api/v1/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'X-Client-ID': clientId, 'X-Client-Token': token },
        body: JSON.stringify(body),
      })
      expect((await answer.json()) as SettleResult).toMatchObject({ success: true, payer: payer.address })
    })
  },
)
