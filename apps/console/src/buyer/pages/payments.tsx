import { buyer } from '../../texts'
import { CsvButton } from '../../ui/csv-button'
import { Empty } from '../../ui/empty'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Rows } from '../../ui/rows'
import { usePayments, usePlans } from '../data'
import { useWallet } from '../wallets/wallet-context'
import { WithWallet } from '../wallets/with-wallet'
import { paymentColumns } from './payment-columns'

const CSV_ROWS = 10_000

export default function Payments() {
  const { connected } = useWallet()
  return (
    <Page
      title={buyer.payments.title}
      text={buyer.payments.text}
      actions={
        connected && (
          <CsvButton path={`/payments/${connected.address}?limit=${CSV_ROWS}`} fileName="payments.csv" />
        )
      }
    >
      <WithWallet>{({ address }) => <PaymentRows address={address} />}</WithWallet>
    </Page>
  )
}

function PaymentRows({ address }: { address: string }) {
  const { query, rows } = usePayments(address)
  const { data: plans = [] } = usePlans()
  return (
    <Loaded query={query}>
      {() =>
        rows.length === 0 ? (
          <Empty title={buyer.payments.none} />
        ) : (
          <Rows
            label={buyer.payments.title}
            rows={rows}
            keyOf={({ id }) => id}
            columns={paymentColumns(plans)}
            more={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
            isReading={query.isFetchingNextPage}
          />
        )
      }
    </Loaded>
  )
}
