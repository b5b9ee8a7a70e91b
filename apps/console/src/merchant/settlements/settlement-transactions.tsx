import { type SettlementTransaction } from '@tollgate/protocol'
import { Table, Text } from '@mantine/core'
import { merchant } from '../../texts'
import { transactionUrl } from '../../ui/explorer'
import { readableNumber } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { StatusBadge, type Tone } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { WideTable } from '../../ui/wide-table'

const texts = merchant.settlement.transactions

const tones: Record<SettlementTransaction['state'], Tone> = {
  pending: 'waiting',
  mined: 'good',
  final: 'good',
  replaced: 'neutral',
  superseded: 'neutral',
}

type Props = { network: string; transactions: readonly SettlementTransaction[] }

export function SettlementTransactions({ network, transactions }: Props) {
  if (transactions.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {texts.none}
      </Text>
    )
  return (
    <WideTable label={texts.title} minWidth={680} verticalSpacing="xs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{texts.state}</Table.Th>
          <Table.Th>{texts.hash}</Table.Th>
          <Table.Th>{texts.signer}</Table.Th>
          <Table.Th>{texts.signedAt}</Table.Th>
          <Table.Th ta="right">{texts.block}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {transactions.map(({ hash, state, signer, nonce, signedAt, block }) => (
          <Table.Tr key={hash}>
            <Table.Td title={texts.stateTexts[state]}>
              <StatusBadge tone={tones[state]}>{texts.states[state]}</StatusBadge>
            </Table.Td>
            <Table.Td>
              <Identifier value={hash} href={transactionUrl(network, hash)} />
            </Table.Td>
            <Table.Td>
              {signer === null ? (
                texts.notOurs
              ) : (
                <>
                  <Identifier value={signer} />
                  {nonce !== null && (
                    <Text size="xs" c="dimmed">
                      {texts.nonce(nonce)}
                    </Text>
                  )}
                </>
              )}
            </Table.Td>
            <Table.Td>{signedAt === null ? '–' : <Time at={signedAt} />}</Table.Td>
            <Table.Td ta="right">{block === null ? '–' : readableNumber(block)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
