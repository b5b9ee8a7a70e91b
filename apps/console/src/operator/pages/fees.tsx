import { Alert, Progress, Stack, Table, Text } from '@mantine/core'
import { type OperatorFees } from '@tollgate/protocol'
import { operator } from '../../texts'
import { isolated } from '../../ui/isolated'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { WideTable } from '../../ui/wide-table'
import { useAdminData } from '../admin'
import { NativeAmount } from '../native-amount'

const texts = operator.fees

/** Whole percent, at most 100. */
function percentOf(spent: string, cap: string): number {
  const percent = BigInt(cap) === 0n ? 100n : (BigInt(spent) * 100n) / BigInt(cap)
  return Number(percent > 100n ? 100n : percent)
}

export function Fees() {
  const fees = useAdminData<{ networks: OperatorFees[] }>('/fees')
  return (
    <Page title={texts.title} text={texts.text}>
      <Loaded query={fees}>
        {({ networks }) => (
          <Stack gap="lg">
            {networks.map((network) => (
              <FeesOf key={network.network} fees={network} />
            ))}
          </Stack>
        )}
      </Loaded>
    </Page>
  )
}

type Spender = { key: string; name: string; spent: string; limit: string | null }

function FeesOf({ fees }: { fees: OperatorFees }) {
  const { network, spent, cap, users, clients, newUsers, error } = fees
  const amount = (value: string | null) => (
    <NativeAmount
      network={network}
      amount={value}
      symbol={fees.nativeSymbol}
      decimals={fees.nativeDecimals}
      none={texts.noLimit}
    />
  )
  const spenders: Spender[] = [
    ...(newUsers ? [{ key: 'new', name: texts.newUsers, ...newUsers }] : []),
    ...users.map((user) => ({ key: `user ${user.userId}`, name: isolated(user.email), ...user })),
    ...clients.map((client) => ({ key: client.clientId, name: texts.keyOf(client.title), ...client })),
  ]
  return (
    <Section title={network}>
      {error !== null && <Alert color="red">{error}</Alert>}
      <Stack gap="sm">
        <Text>
          {amount(spent)} {texts.of} {amount(cap)}
        </Text>
        {spent !== null && cap !== null && (
          <Progress
            value={percentOf(spent, cap)}
            color={percentOf(spent, cap) >= 80 ? 'red' : 'petrol'}
            aria-label={texts.used(percentOf(spent, cap))}
          />
        )}
        {spenders.length > 0 && (
          <WideTable label={texts.biggest} minWidth={420}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{texts.biggest}</Table.Th>
                <Table.Th ta="right">{texts.spent}</Table.Th>
                <Table.Th ta="right">{texts.limit}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {spenders.map(({ key, name, spent: own, limit }) => (
                <Table.Tr key={key}>
                  <Table.Td>{name}</Table.Td>
                  <Table.Td ta="right">{amount(own)}</Table.Td>
                  <Table.Td ta="right">{amount(limit)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </WideTable>
        )}
      </Stack>
    </Section>
  )
}
