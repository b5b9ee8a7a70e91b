import { Alert, Group, Stack, Table, Text } from '@mantine/core'
import { type OperatorNetwork, type OperatorNode } from '@tollgate/protocol'
import { operator } from '../../texts'
import { readableNumber } from '../../ui/format'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { StatusBadge, type Tone } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { WideTable } from '../../ui/wide-table'
import { useAdminData } from '../admin'

const texts = operator.networks
const tones: Record<OperatorNode['state'], Tone> = { ok: 'good', behind: 'waiting', failing: 'bad' }

export function Networks() {
  const networks = useAdminData<{ replica: string; networks: OperatorNetwork[] }>('/networks')
  return (
    <Page title={texts.title} text={texts.text}>
      <Loaded query={networks}>
        {(found) => (
          <Stack gap="lg">
            {found.networks.map((network) => (
              <NetworkSection key={network.network} network={network} />
            ))}
            <Text size="sm" c="dimmed">
              {operator.overview.replica(found.replica)}
            </Text>
          </Stack>
        )}
      </Loaded>
    </Page>
  )
}

const NetworkSection = ({ network }: { network: OperatorNetwork }) => (
  <Section
    title={network.network}
    actions={
      <Group gap="xs">
        {network.block !== null && <Text size="sm">{texts.block(readableNumber(network.block))}</Text>}
        <StatusBadge tone={network.status === 'active' ? 'good' : 'bad'}>
          {network.status ?? texts.unknown}
        </StatusBadge>
      </Group>
    }
  >
    {network.problem !== null && <Alert color="red">{network.problem}</Alert>}
    {network.error !== null && <Alert color="red">{network.error}</Alert>}
    <WideTable label={texts.nodesOf(network.network)} minWidth={620}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{texts.node}</Table.Th>
          <Table.Th>{texts.state}</Table.Th>
          <Table.Th ta="right">{texts.height}</Table.Th>
          <Table.Th ta="right">{texts.lag}</Table.Th>
          <Table.Th>{texts.lastError}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {network.nodes.map((node) => (
          <Table.Tr key={node.position}>
            <Table.Td>
              {node.position}. {node.name}
            </Table.Td>
            <Table.Td>
              <StatusBadge tone={tones[node.state]}>{texts.states[node.state]}</StatusBadge>
            </Table.Td>
            <Table.Td ta="right">{node.height === null ? '' : readableNumber(node.height)}</Table.Td>
            <Table.Td ta="right">{node.lag === null ? '' : readableNumber(node.lag)}</Table.Td>
            <Table.Td>
              {node.lastError} {node.lastErrorAt !== null && <Time at={node.lastErrorAt} />}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  </Section>
)
