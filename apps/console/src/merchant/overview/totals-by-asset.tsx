import { Table, Text } from '@mantine/core'
import { merchant } from '../../texts'
import { Amount } from '../../ui/amount'
import { addressUrl } from '../../ui/explorer'
import { readableNumber } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { Section } from '../../ui/section'
import { WideTable } from '../../ui/wide-table'
import { type DayMetrics, totalsOf } from './metrics'

const texts = merchant.overview.totals

export function TotalsByAsset({ metrics }: { metrics: readonly DayMetrics[] }) {
  const totals = totalsOf(metrics)
  if (totals.length === 0) return null
  return (
    <Section title={texts.title}>
      <WideTable label={texts.title} minWidth={290}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.asset}</Table.Th>
            <Table.Th ta="right">{texts.amount}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {totals.map(({ network, asset, symbol, decimals, settled, amount }) => (
            <Table.Tr key={`${network} ${asset}`}>
              <Table.Td>
                {merchant.snippets.assetOn(symbol, network)}
                {asset !== symbol && (
                  <Text size="xs" c="dimmed" component="div">
                    <Identifier value={asset} href={addressUrl(network, asset)} />
                  </Text>
                )}
              </Table.Td>
              <Table.Td ta="right">
                <Amount amount={amount} decimals={decimals} symbol={symbol} />
                <Text size="xs" c="dimmed">
                  {texts.payments(settled, readableNumber(settled))}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Section>
  )
}
