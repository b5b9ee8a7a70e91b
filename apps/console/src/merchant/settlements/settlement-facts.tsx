import { type SettlementDetails } from '@tollgate/protocol'
import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { addressUrl, transactionUrl } from '../../ui/explorer'
import { Facts } from '../../ui/facts'
import { readableNumber } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { isolated } from '../../ui/isolated'
import { Time } from '../../ui/time'
import { useKeyTitles } from '../keys/use-client-keys'
import { writeFilters } from './filters'
import { NetworkFee } from './network-fee'

const { names } = merchant.settlement

export function SettlementFacts({ settlement }: { settlement: SettlementDetails }) {
  const { network, asset, payer, recipient, resource, clientId, transaction, block, fee } = settlement
  const key = useKeyTitles().get(clientId)
  return (
    <Facts
      facts={[
        [names.resource, isolated(resource ?? '')],
        [
          names.payer,
          <span key="payer">
            <Identifier value={payer} href={addressUrl(network, payer)} />{' '}
            <Anchor component={Link} href={`/settlements?${writeFilters({ payer })}`} size="sm">
              {merchant.settlement.allOfPayer}
            </Anchor>
          </span>,
        ],
        [
          names.recipient,
          <Identifier key="recipient" value={recipient} href={addressUrl(network, recipient)} />,
        ],
        [names.network, network],
        [names.asset, <Identifier key="asset" value={asset} href={addressUrl(network, asset)} />],
        [
          names.transaction,
          transaction !== null && (
            <Identifier key="transaction" value={transaction} href={transactionUrl(network, transaction)} />
          ),
        ],
        [names.block, block !== null && <Block key="block" settlement={settlement} />],
        [names.fee, <NetworkFee key="fee" fee={fee} payer={payer} />],
        [
          names.paymentIdentifier,
          settlement.paymentIdentifier !== null && (
            <Identifier key="identifier" value={settlement.paymentIdentifier} isWhole />
          ),
        ],
        [
          names.key,
          <span key="key">
            {key !== undefined && <>{key} </>}
            <Identifier value={clientId} />
          </span>,
        ],
        [names.createdAt, <Time key="created" at={settlement.createdAt} />],
        [names.settledAt, settlement.settledAt !== null && <Time key="settled" at={settlement.settledAt} />],
      ]}
    />
  )
}

function Block({
  settlement: { block, confirmations, requiredConfirmations },
}: {
  settlement: SettlementDetails
}) {
  if (block === null) return null
  return (
    <>
      {readableNumber(block)}
      {confirmations !== null && (
        <Text component="span" c="dimmed" size="sm">
          {' '}
          {merchant.settlement.confirmations(readableNumber(confirmations), requiredConfirmations)}
        </Text>
      )}
    </>
  )
}
