import { Group } from '@mantine/core'
import { buyer } from '../../texts'
import { CsvButton } from '../../ui/csv-button'
import { Empty } from '../../ui/empty'
import { Page } from '../../ui/page'
import { PagedRows } from '../../ui/paged-rows'
import { RefreshButton } from '../../ui/refresh-button'
import { usePayments, usePlans } from '../data'
import { WithWallet } from '../wallets/with-wallet'
import { paymentColumns } from './payment-columns'

const CSV_ROWS = 10_000

export default function Payments() {
  return (
    <Page title={buyer.payments.title} text={buyer.payments.text}>
      <WithWallet>{({ address }) => <PaymentRows address={address} />}</WithWallet>
    </Page>
  )
}

function PaymentRows({ address }: { address: string }) {
  const pages = usePayments(address)
  const { data: plans } = usePlans()
  return (
    <>
      <Group justify="flex-end" gap="xs">
        <RefreshButton pages={pages} />
        <CsvButton path={`/payments/${address}?limit=${CSV_ROWS}`} fileName="payments.csv" />
      </Group>
      <PagedRows
        label={buyer.payments.title}
        pages={pages}
        keyOf={({ id }) => id}
        columns={paymentColumns(plans)}
        empty={<Empty title={buyer.payments.none} />}
      />
    </>
  )
}
