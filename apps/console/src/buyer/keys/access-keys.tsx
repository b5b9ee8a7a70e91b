import { Button, Select, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type AccessKey, type CreatedAccessKey, type Plan, type Tollgate } from '@tollgate/wallet'
import { useState } from 'react'
import { buyer } from '../../texts'
import { ConfirmButton } from '../../ui/confirm-button'
import { Empty } from '../../ui/empty'
import { readableNumber } from '../../ui/format'
import { Loaded } from '../../ui/loaded'
import { type Column, Rows } from '../../ui/rows'
import { SecretOnce } from '../../ui/secret-once'
import { Status } from '../../ui/status'
import { Section } from '../../ui/section'
import { Time } from '../../ui/time'
import { networkOf, type Provider, useChainName, useCredits, usePlans, useProviders } from '../data'
import { FREE_PLAN_ID } from '../free-plan'
import { type ConnectedWallet } from '../wallets/found-wallets'
import { useClient } from '../wallets/use-client'
import { useIsSignedIn } from '../wallets/use-is-signed-in'
import { KeyForm } from './key-form'

const texts = buyer.keys
/** Nothing on this page buys credits. */
const refusePayments = () => false

export function AccessKeys({ wallet }: { wallet: ConnectedWallet }) {
  return <Loaded query={usePlans()}>{(plans) => <KeysByPlan wallet={wallet} plans={plans} />}</Loaded>
}

function KeysByPlan({ wallet, plans }: { wallet: ConnectedWallet; plans: readonly Plan[] }) {
  const { data: balances = [] } = useCredits(wallet.address)
  const payable = plans.filter(({ ecosystem }) => ecosystem === wallet.ecosystem)
  const withCredits = balances.find(
    ({ pricing_plan_id, remaining_credits }) => pricing_plan_id !== FREE_PLAN_ID && remaining_credits > 0,
  )?.pricing_plan_id
  const [chosen, setChosen] = useState<string | null>(null)
  const [wantsSignIn, setWantsSignIn] = useState(false)
  const plan = payable.find(({ id }) => id === Number(chosen ?? withCredits)) ?? payable[0]
  const client = useClient(refusePayments, plan)
  const isSignedIn = useIsSignedIn(client, [wallet.address, plan?.id])
  if (!plan || !client) return <Text>{texts.noPlan}</Text>
  return (
    <Stack gap="lg">
      {payable.length > 1 && (
        <Select
          label={texts.plan}
          data={payable.map(({ id, plan_name }) => ({ value: String(id), label: plan_name }))}
          value={String(plan.id)}
          onChange={setChosen}
          allowDeselect={false}
          maw={360}
        />
      )}
      {wantsSignIn || isSignedIn ? (
        <KeysOfPlan client={client} plan={plan} address={wallet.address} />
      ) : (
        <Empty title={texts.signIn.title}>
          <Text size="sm" c="dimmed">
            {texts.signIn.text}
          </Text>
          <Button onClick={() => setWantsSignIn(true)}>{texts.signIn.action}</Button>
        </Empty>
      )}
    </Stack>
  )
}

function KeysOfPlan({ client, plan, address }: { client: Tollgate; plan: Plan; address: string }) {
  const queries = useQueryClient()
  const queryKey = ['keys', address, plan.id]
  const keys = useQuery({ queryKey, queryFn: () => client.keys.list(), retry: false })
  const { data: providers = [] } = useProviders()
  const chainName = useChainName()
  const [created, setCreated] = useState<CreatedAccessKey>()
  const reload = () => queries.invalidateQueries({ queryKey })

  async function remove(id: string) {
    await client.keys.delete(id)
    await reload()
  }

  return (
    <>
      <Status>
        {created && (
          <SecretOnce
            title={texts.created(created.label)}
            secrets={[...urlsOf(created, providers), [texts.key, created.key]]}
            onDone={() => setCreated(undefined)}
          />
        )}
      </Status>
      <Section title={texts.new}>
        <KeyForm
          create={(key) => client.keys.create(key)}
          onCreated={(key) => {
            setCreated(key)
            void reload()
          }}
        />
      </Section>
      <Section title={texts.list}>
        <Loaded query={keys}>
          {(all) =>
            all.length === 0 ? (
              <Empty title={texts.none} />
            ) : (
              <Rows
                label={texts.list}
                rows={all}
                keyOf={({ id }) => id}
                columns={columnsOf(remove, chainName)}
              />
            )
          }
        </Loaded>
      </Section>
    </>
  )
}

const limitText = ({ max_credits, max_credits_per_day, spent_credits }: AccessKey) =>
  [
    texts.spent(
      readableNumber(spent_credits),
      max_credits === null ? undefined : readableNumber(max_credits),
    ),
    ...(max_credits_per_day === null ? [] : [texts.perDay(readableNumber(max_credits_per_day))]),
  ].join(', ')

/** A ready URL for each chain that the key may call. */
const urlsOf = ({ url, chains }: CreatedAccessKey, providers: readonly Provider[]): [string, string][] =>
  providers
    .filter(({ category, chain_id }) => chains.length === 0 || chains.includes(networkOf(category, chain_id)))
    .map(({ chain_id, network }) => network ?? chain_id)
    .filter((name, index, names) => names.indexOf(name) === index)
    .map((name) => [texts.urlOf(name), url.replace('{chain}', name)])

const columnsOf = (
  remove: (id: string) => Promise<void>,
  chainName: (chain: string) => string,
): Column<AccessKey>[] => [
  { title: texts.label, width: 'minmax(9rem, 1.2fr)', cell: ({ label }) => label },
  { title: texts.limits, width: 'minmax(12rem, 1.4fr)', cell: limitText },
  {
    title: texts.chains,
    width: 'minmax(9rem, 1fr)',
    cell: ({ chains }) => (chains.length === 0 ? texts.every : chains.map(chainName).join(', ')),
  },
  {
    title: texts.expires,
    width: 'minmax(8rem, 0.8fr)',
    cell: ({ expires_at }) => (expires_at === null ? texts.never : <Time at={expires_at} />),
  },
  {
    title: texts.actions,
    width: 'minmax(7rem, 0.6fr)',
    cell: ({ id, label }) => (
      <ConfirmButton
        label={texts.delete}
        aria-label={texts.deleteKey(label)}
        text={texts.deleteText(label)}
        action={texts.delete}
        run={() => remove(id)}
      />
    ),
  },
]
