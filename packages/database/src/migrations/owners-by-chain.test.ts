import { emptyDatabase, query, selectedMigrations } from '../testing/database'
import { migrate } from './migrate'

const OWNERS = '20261128031000_owners_by_chain'

test('webhooks of a contract that has signed in on one chain are its own on that chain after', async () => {
  const url = await emptyDatabase()
  const before = await selectedMigrations('gateway', (name) => name < OWNERS)
  await migrate({ url, service: 'gateway', migrationsFolder: before })
  await query(
    url,
    `INSERT INTO pricing_plans (id, plan_name, network, chain_id, ecosystem, asset_address, amount, decimals, display_denom,
       credits, pay_to, updated_at)
       SELECT id, 'plan', 'base', chain, 'evm', '0xusdc', 1, 6, 'USDC', 1, '0xshop', now()
       FROM (VALUES (1, '8453'), (2, '1')) AS plans (id, chain);
     INSERT INTO sessions (id, wallet, auth_method, chain_id, ecosystem, pricing_plan_id, signed_by)
       SELECT gen_random_uuid(), wallet, 'siwe', CASE plan WHEN 1 THEN '8453' ELSE '1' END, 'evm', plan, signed_by FROM (VALUES
         ('0xcontract', 1, 'contract'), ('0xcontract', 1, 'contract'), ('0xkey', 1, 'key'), ('0xboth', 1, 'contract'),
         ('0xboth', 1, 'key'), ('0xtwo', 1, 'contract'), ('0xtwo', 2, 'contract'), ('0xold', 1, NULL)
       ) AS signed (wallet, plan, signed_by);
     INSERT INTO webhook_endpoints (id, owner, url, description, events, threshold, secret)
       SELECT gen_random_uuid(), wallet, '', '', '{}', 5, '' FROM (SELECT DISTINCT wallet FROM sessions) AS wallets;
     INSERT INTO accounts (wallet, pricing_plan_id) SELECT '0xcontract', id FROM pricing_plans`,
  )
  const all = await selectedMigrations('gateway', (name) => name <= OWNERS)
  expect((await migrate({ url, service: 'gateway', migrationsFolder: all })).applied).toEqual([OWNERS])

  expect(await query(url, 'SELECT owner FROM webhook_endpoints ORDER BY owner')).toEqual(
    ['0xboth', '0xcontract@evm:8453', '0xkey', '0xold', '0xtwo'].map((owner) => ({ owner })),
  )
  const limits = 'SELECT pricing_plan_id AS plan, low_balances AS limits FROM accounts ORDER BY 1'
  expect(await query(url, limits)).toEqual([
    { plan: 1, limits: ['5'] },
    { plan: 2, limits: null },
  ])
})
