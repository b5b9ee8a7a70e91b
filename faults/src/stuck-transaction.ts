import { until } from '@tollgate/e2e/testing/paying'
import { auditPayments, auditTransactions } from './audit-payments'
import { evm } from './family'
import { playRounds, prepareEnvironment, signMany } from './environment'
import { type Scenario } from './scenario'
import { mineAt, waiting } from './waiting'

const PAYMENTS = 3
const AMOUNT = 10_000n
const MONEY = 1_000_000_000n
const GWEI = 10n ** 9n

const HELP = `${PAYMENTS} payments are broadcast while no block is mined, then the base fee rises above the fee of all their transactions. Each
  transaction must be replaced by one with the same nonce and a higher fee, and be mined in a block of that base fee;
  ${PAYMENTS} payments requested meanwhile must also succeed, with contiguous nonces.`

export const stuckTransaction: Scenario = {
  name: 'stuck-transaction',
  help: HELP,
  rounds: 5,
  async run(stage) {
    const environment = await prepareEnvironment(stage, evm, { facilitators: 2 })
    const { chain, ledger } = environment
    const payer = await chain.newPayer(MONEY)
    const sign = (payTo: string) => signMany(payer, PAYMENTS, { payTo, amount: AMOUNT })
    const totals = { replaced: 0, versions: 0, successes: 0, transfers: 0 }
    let worstSeconds = 0

    const problems = await playRounds(stage, async (round) => {
      const payTo = await chain.newRecipient()
      const [early, late] = [await sign(payTo), await sign(payTo)]
      await chain.setPace('stopped')
      const first = environment.settleAll(early)
      const stuck = await waiting(environment, payTo, PAYMENTS)
      // Above every transaction's fee, but below the gas price cap.
      const baseFee = 2n * stuck.reduce((high, { offer }) => (offer > high ? offer : high), 0n)
      const began = performance.now()
      const second = environment.settleAll(late)
      const mining = await mineAt(environment, baseFee)
      const ended = (await Promise.all([first, second]).finally(() => mining.stop())).flat()
      const seconds = (performance.now() - began) / 1000
      worstSeconds = Math.max(worstSeconds, seconds)
      await chain.mine({ baseFee: GWEI })
      await chain.setPace('at-once')
      await until(ledger.open, (open) => open === 0)

      const audited = await auditPayments({ ...environment, payTo, ended })
      const problems = [...audited.problems, ...(await auditTransactions(environment))]
      if (audited.successes !== ended.length)
        problems.push(`${audited.successes} of ${ended.length} succeeded`)
      const now = await ledger.transactions()
      const replaced = stuck.flatMap(({ signer, nonce, hash }) => {
        const same = now.find((one) => one.signer === signer && one.nonce === nonce)
        return same && same.hash !== hash && same.versions > 1n ? [same] : []
      })
      if (replaced.length !== stuck.length)
        problems.push(`${replaced.length} of ${stuck.length} stuck transactions were replaced`)
      totals.replaced += replaced.length
      totals.versions += replaced.reduce((sum, { versions }) => sum + Number(versions), 0)
      totals.successes += audited.successes
      totals.transfers += audited.transfers
      stage.say(
        `· round ${round}: ${replaced.length} of ${stuck.length} stuck transactions replaced, ${audited.successes} of ${ended.length} payments succeeded, ${seconds.toFixed(1)} s`,
      )
      return problems
    })
    return {
      problems,
      rows: [
        {
          fault: 'Transactions are stuck: the base fee rises above their fee',
          where: 'chain',
          times: stage.rounds,
          payments: 2 * stage.rounds * PAYMENTS,
          outcome:
            'Each is replaced with a higher fee and the same nonce; all their payments succeed, and so do later ones.',
          counted: `${totals.replaced} transactions replaced (${totals.versions} versions), ${totals.successes} successes, ${totals.transfers} transfers`,
          worstSeconds,
        },
      ],
    }
  },
}
