import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { buyer } from '../../texts'
import { Loaded } from '../../ui/loaded'
import { Rows } from '../../ui/rows'
import { Section } from '../../ui/section'
import { usePayments, usePlans } from '../data'
import { paymentColumns } from './payment-columns'

const SHOWN = 5

export function RecentPayments({ address }: { address: string }) {
  const query = usePayments(address)
  const { data: plans } = usePlans()
  return (
    <Section
      title={buyer.payments.recent}
      actions={
        <Anchor component={Link} href="/payments">
          {buyer.payments.all}
        </Anchor>
      }
    >
      <Loaded query={query}>
        {({ pages: [newest = []] }) =>
          newest.length === 0 ? (
            <Text c="dimmed">{buyer.payments.none}</Text>
          ) : (
            <Rows
              label={buyer.payments.recent}
              rows={newest.slice(0, SHOWN)}
              keyOf={({ id }) => id}
              columns={paymentColumns(plans)}
            />
          )
        }
      </Loaded>
    </Section>
  )
}
