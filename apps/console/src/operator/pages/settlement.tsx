import { Alert, Anchor, Button, Group, Stack, Table, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type OperatorSettlementDetail, type RetryCode } from '@tollgate/protocol'
import { Link } from 'wouter'
import { isApiError } from '../../api/api-error'
import { operator } from '../../texts'
import { Amount } from '../../ui/amount'
import { Empty } from '../../ui/empty'
import { addressUrl, transactionUrl } from '../../ui/explorer'
import { Facts } from '../../ui/facts'
import { Failure } from '../../ui/failure'
import { Identifier } from '../../ui/identifier'
import { Loaded } from '../../ui/loaded'
import { NativeFee } from '../../ui/native-fee'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { Status } from '../../ui/status'
import { Time } from '../../ui/time'
import { WideTable } from '../../ui/wide-table'
import { useAdmin, useAdminData } from '../admin'
import { NextStep } from './settlements'

const texts = operator.settlement

export function Settlement({ id }: { id: string }) {
  const settlement = useAdminData<OperatorSettlementDetail>(`/settlements/${encodeURIComponent(id)}`)
  if (isAbsent(settlement.error))
    return (
      <Page title={texts.title(id)}>
        <Empty title={texts.absent}>
          <Anchor component={Link} href="/operator/settlements">
            {texts.toList}
          </Anchor>
        </Empty>
      </Page>
    )
  return (
    <Page
      title={texts.title(id)}
      actions={
        <Anchor component={Link} href="/operator/settlements">
          {texts.toList}
        </Anchor>
      }
    >
      <Loaded query={settlement}>
        {(found) => (
          <Stack gap="lg">
            <Retry settlement={found} />
            <Section title={texts.facts}>
              <SettlementFacts settlement={found} />
            </Section>
            {found.transaction && (
              <Section title={texts.transaction}>
                <Versions network={found.network} payer={found.payer} transaction={found.transaction} />
              </Section>
            )}
          </Stack>
        )}
      </Loaded>
    </Page>
  )
}

const isAbsent = (error: unknown) => isApiError(error) && (error.status === 404 || error.status === 400)

/** The service writes a clause. */
const sentence = (clause: string) => `${clause.slice(0, 1).toUpperCase()}${clause.slice(1)}.`

const OPEN_STATES = ['claimed', 'signed', 'reversed']

function Retry({
  settlement: { id, state, nextStep, retryRequestedAt },
}: {
  settlement: OperatorSettlementDetail
}) {
  const { request } = useAdmin()
  const queries = useQueryClient()
  const retry = useMutation({
    mutationFn: () => request<{ code: RetryCode; message: string }>('POST', `/settlements/${id}/retry`),
    onSettled: () => queries.invalidateQueries({ queryKey: ['admin'] }),
  })
  return (
    <Section title={texts.next}>
      <Stack gap="sm">
        <Text>
          <NextStep step={nextStep} />
        </Text>
        {retryRequestedAt !== null && <Text size="sm">{texts.retryRequested}</Text>}
        <Status>
          {retry.data && (
            <Alert
              color={retry.data.code === 'retried' ? 'green' : 'yellow'}
              title={texts.codes[retry.data.code]}
            >
              {retry.data.code === 'retried'
                ? texts.retried[state === 'claimed' ? 'claimed' : 'signed']
                : sentence(retry.data.message)}
            </Alert>
          )}
        </Status>
        {retry.isError && <Failure error={retry.error} />}
        {OPEN_STATES.includes(state) && (
          <Group>
            <Button loading={retry.isPending} onClick={() => retry.mutate()}>
              {texts.retry}
            </Button>
          </Group>
        )}
      </Stack>
    </Section>
  )
}

function SettlementFacts({ settlement: one }: { settlement: OperatorSettlementDetail }) {
  const time = (at: string | null) => at !== null && <Time at={at} />
  return (
    <Facts
      facts={[
        [texts.state, one.state],
        [texts.network, one.network],
        [
          texts.amount,
          <Amount key="amount" amount={one.amount} decimals={one.decimals} symbol={one.symbol} />,
        ],
        [texts.payer, <Identifier key="payer" value={one.payer} href={addressUrl(one.network, one.payer)} />],
        [texts.payTo, <Identifier key="payTo" value={one.payTo} href={addressUrl(one.network, one.payTo)} />],
        [texts.nonce, <Identifier key="nonce" value={one.paymentNonce} />],
        [texts.client, texts.clientOf(one.client.title, one.client.id, one.client.isDeleted)],
        [texts.attempts, String(one.attempts)],
        [texts.problem, one.lastError],
        [texts.reason, one.errorReason],
        [texts.fee, <NativeFee key="fee" fee={one.fee} payer={one.payer} />],
        [texts.created, time(one.createdAt)],
        [texts.updated, time(one.updatedAt)],
        [texts.settled, time(one.settledAt)],
        [texts.reported, time(one.successReportedAt)],
        [
          texts.hash,
          one.transactionHash !== null && (
            <Identifier
              key="hash"
              value={one.transactionHash}
              href={transactionUrl(one.network, one.transactionHash)}
            />
          ),
        ],
        [texts.block, one.blockNumber],
      ]}
    />
  )
}

type Transaction = NonNullable<OperatorSettlementDetail['transaction']>

type VersionsProps = { network: string; payer: string; transaction: Transaction }

const Versions = ({ network, payer, transaction }: VersionsProps) => (
  <Stack gap="sm">
    <Facts
      facts={[
        [texts.state, transaction.state],
        [
          texts.signer,
          <Identifier
            key="signer"
            value={transaction.signer}
            href={addressUrl(network, transaction.signer)}
          />,
        ],
        [texts.signerNonce, transaction.nonce ?? texts.signedByPayer],
        [texts.shared, String(transaction.payments)],
        [
          texts.accepted,
          transaction.acceptedAt === null ? texts.notAccepted : <Time key="at" at={transaction.acceptedAt} />,
        ],
      ]}
    />
    <WideTable label={texts.versions} minWidth={420}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{texts.version}</Table.Th>
          <Table.Th>{texts.signed}</Table.Th>
          <Table.Th>{texts.fee}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {transaction.versions.map(({ hash, createdAt, fee }) => (
          <Table.Tr key={hash}>
            <Table.Td>
              <Identifier value={hash} href={transactionUrl(network, hash)} />
            </Table.Td>
            <Table.Td>
              <Time at={createdAt} />
            </Table.Td>
            <Table.Td>{fee !== null && <NativeFee fee={fee} payer={payer} />}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  </Stack>
)
