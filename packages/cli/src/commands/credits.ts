import { type Command } from 'commander'
import { table } from '../output/table'
import { planName } from '../plan-name'
import { type Run } from '../run-command'
import { describe } from './help'

export const creditsCommand = (run: Run): Command =>
  describe(
    'credits',
    'Show the credits that the wallet has on each plan',
    'tollgate credits --keystore wallet.json',
  ).action(
    run(async ({ open, output }) => {
      const { tollgate, plans } = await open()
      const [balances, sold] = await Promise.all([tollgate.credits(), plans()])
      output.result(balances, (colors) =>
        table(
          colors,
          ['Plan', 'Name', 'Credits'],
          balances.map(({ pricing_plan_id: id, remaining_credits: left }) => [id, planName(sold, id), left]),
          'No credits. `tollgate buy` buys some.',
        ),
      )
    }),
  )
