import { emptyDatabase, query, selectedMigrations } from '../testing/database'
import { migrate } from './migrate'

const RESERVATIONS = '20261124090000_reservations'
const REPLICA = '6a0e1c1e-7b0c-4c3e-9d36-0d5f7f6b5a01'

test('calls that were reserved before have reservations after, so that they are refunded if their replica dies', async () => {
  const url = await emptyDatabase()
  const before = await selectedMigrations('gateway', (name) => name < RESERVATIONS)
  await migrate({ url, service: 'gateway', migrationsFolder: before })
  await query(
    url,
    `INSERT INTO pricing_plans (id, plan_name, network, chain_id, ecosystem, asset_address, amount, decimals, display_denom,
       credits, pay_to, updated_at)
       VALUES (1, 'plan', 'base', '8453', 'evm', '0xusdc', 1, 6, 'USDC', 1, '0xshop', now());
     INSERT INTO accounts (wallet, pricing_plan_id) VALUES ('0xwallet', 1);
     INSERT INTO usage (account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, credits, state,
       created_at)
       SELECT accounts.id, '${REPLICA}', 'node', 'evm', '8453', 'rpc', 'POST', '', 1, state, timestamptz '2026-01-01'
       FROM accounts, unnest(ARRAY['reserved', 'done', 'reserved', 'refunded']) AS state`,
  )
  const all = await selectedMigrations('gateway', (name) => name <= RESERVATIONS)
  expect((await migrate({ url, service: 'gateway', migrationsFolder: all })).applied).toEqual([RESERVATIONS])

  const reserved = await query(
    url,
    `SELECT id AS first_call, id AS last_call, replica_id, created_at FROM usage WHERE state = 'reserved' ORDER BY id`,
  )
  expect(reserved).toHaveLength(2)
  expect(
    await query(
      url,
      'SELECT first_call, last_call, replica_id, created_at FROM reservations ORDER BY first_call',
    ),
  ).toEqual(reserved)
})
