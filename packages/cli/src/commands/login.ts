import { type Command } from 'commander'
import { type Run } from '../run-command'
import { facts, time } from '../output/table'
import { describe } from './help'

export const loginCommand = (run: Run): Command =>
  describe(
    'login',
    'Sign in with the wallet. Commands do it by themselves; this ends an older session of the plan and begins another one',
    'PRIVATE_KEY=… tollgate login --url https://gateway.example',
  ).action(
    run(async ({ open, output }) => {
      const { tollgate, wallet, plans } = await open()
      const signedIn = new Promise<{ planId: number; expiresAt: string }>((resolve) => {
        tollgate.on('signed-in', resolve)
      })
      await tollgate.signOut()
      // Every request in a session signs in first.
      await tollgate.keys.list()
      const { planId, expiresAt } = await signedIn
      const plan = (await plans()).find(({ id }) => id === planId)
      const session = {
        wallet: wallet.address,
        plan_id: planId,
        plan_name: plan?.plan_name,
        expires_at: expiresAt,
      }
      output.result(session, (colors) =>
        facts(colors, [
          ['Wallet', wallet.address],
          ['Plan', `${planId} ${plan?.plan_name ?? ''}`],
          ['Until', `${time(expiresAt)} UTC, and renewed by itself`],
        ]),
      )
    }),
  )

export const logoutCommand = (run: Run): Command =>
  describe(
    'logout',
    'End the session of the wallet on the plan. Credits stay',
    'PRIVATE_KEY=… tollgate logout --plan 1',
  ).action(
    run(async ({ open, output }) => {
      const { tollgate, wallet } = await open()
      await tollgate.signOut()
      output.result({ wallet: wallet.address, signed_out: true }, () => 'Signed out.')
    }),
  )
