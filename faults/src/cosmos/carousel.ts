import { randomUUID } from 'node:crypto'
import { newThirdParty } from '@tollgate/e2e/testing/client-keys'
import { until } from '@tollgate/e2e/testing/paying'
import { cosmos } from '../family'
import { playRounds, prepareEnvironment } from '../environment'
import { openMerchant } from '../merchant'
import { type Scenario } from '../scenario'

const AMOUNT = 10_000n
/** The unit is uatom. Payers that settled nothing before have a twentieth of it. */
const DAILY_LIMIT = 800_000n
const BUDGET = DAILY_LIMIT / 20n

const HELP = `A payer without fees of its own presents a payment, waits until the facilitator has granted it the fee, and spends the grant
  before the payment is sent: on a send of the same sequence to its own next wallet, which does the same in the next round. The
  signer may lose a twentieth of its daily limit of ${DAILY_LIMIT} uatom to such payers, however many rounds they play; a payer that
  settled before, and a new payer of another merchant, must be served all the while.`

export const cosmosCarousel: Scenario = {
  name: `${cosmos.prefix}carousel`,
  help: `On the Cosmos chain. ${HELP}`,
  rounds: 10,
  async run(stage) {
    const environment = await prepareEnvironment(stage, cosmos, {
      network: () => ({ max_fees_per_day: `${DAILY_LIMIT}` }),
    })
    const { world, chain, merchant, ledger } = environment
    const [signer = ''] = chain.signers
    const owner = await newThirdParty(world.facilitator)
    const other = openMerchant([world.facilitator.url], await owner.newKey())
    stage.closeLater(() => other.close())
    const regular = await chain.newWallet(BigInt(stage.rounds + 1) * AMOUNT)
    const payTo = await chain.newRecipient()
    const totals = { outran: 0, refused: 0, served: 0, loss: 0n }
    await merchant.settle(0, (await chain.sponsoredPayment(regular, { payTo, amount: AMOUNT })).request)

    let payer = await chain.newWallet(AMOUNT)
    const grants = async () => (await ledger.transactions()).filter(({ nonce }) => nonce !== null).length
    const problems = await playRounds(stage, async (round) => {
      const next = await chain.newWallet(0n)
      const payment = await chain.sponsoredPayment(payer, { payTo, amount: AMOUNT })
      const faster = await chain.sponsoredPayment(payer, { payTo: next.address, amount: AMOUNT })
      const [before, granted] = [await chain.fundsOf(signer), await grants()]
      await chain.setPace('stopped')
      const ended = { isSettled: false }
      const settling = merchant
        .settle(0, payment.request, randomUUID())
        .finally(() => (ended.isSettled = true))
      await until(
        async () => ended.isSettled || ((await grants()) > granted && (await chain.pending()) > 0),
        (isReady) => isReady,
      )
      if (!ended.isSettled) {
        await chain.mine()
        await chain.broadcast(faster)
        await chain.mine()
      }
      const { end } = await settling
      await chain.setPace('at-once')
      const loss = before - (await chain.fundsOf(signer))
      totals.loss += loss
      if (end.errorReason === 'fee_allowance_exceeded') totals.refused++
      else if (!end.success) totals.outran++
      if ((await chain.fundsOf(payer.address)) === 0n) payer = next

      const newcomer = await chain.newWallet(AMOUNT)
      const others = [
        { wallet: regular, at: merchant },
        { wallet: newcomer, at: other },
      ]
      const results = await Promise.all(
        others.map(async ({ wallet, at }) =>
          at.settle(0, (await chain.sponsoredPayment(wallet, { payTo, amount: AMOUNT })).request),
        ),
      )
      const served = results.filter((one) => one.end.success)
      totals.served += served.length
      stage.say(
        `· round ${round}: ${end.success ? 'settled' : end.errorReason}; the signer lost ${loss} uatom, the payer nothing; ${served.length} of 2 others served`,
      )
      return served.length === 2 ? [] : [`${served.length} of 2 other payments succeeded`]
    })
    if (totals.loss > BUDGET) problems.push(`the signer lost ${totals.loss} uatom of at most ${BUDGET}`)
    return {
      problems,
      rows: [
        {
          fault:
            'Payers spend their fee grants on sends to their own next wallets before their payments are sent',
          where: 'clients',
          times: stage.rounds,
          payments: 3 * stage.rounds,
          outcome: `The signer loses at most ${BUDGET} uatom of a daily limit of ${DAILY_LIMIT}; then such payers are refused before anything is granted. A payer that settled before and payers of another merchant are served.`,
          counted: `${totals.outran} outran their payment, ${totals.refused} refused, ${totals.loss} uatom lost; ${totals.served} others served`,
        },
      ],
    }
  },
}
