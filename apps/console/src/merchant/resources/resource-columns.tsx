import { type AcceptedPayment, type Asset, type RegisteredResource } from '@tollgate/protocol'
import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Amount } from '../../ui/amount'
import { isolated } from '../../ui/isolated'
import { type Column } from '../../ui/rows'
import { Time } from '../../ui/time'
import { findAsset } from '../find-asset'
import { OwnershipBadge } from './ownership'

const texts = merchant.resources
const { columns } = texts

function Price({ accepts, assets }: { accepts: readonly AcceptedPayment[]; assets: readonly Asset[] }) {
  const [first] = accepts
  if (first === undefined) return '–'
  const asset = findAsset(assets, first)
  return (
    <>
      {asset === undefined ? (
        first.maxAmountRequired
      ) : (
        <Amount amount={first.maxAmountRequired} decimals={asset.decimals} symbol={asset.symbol} />
      )}
      {accepts.length > 1 && (
        <Text component="span" size="xs" c="dimmed">
          {' '}
          {texts.more(accepts.length - 1)}
        </Text>
      )}
    </>
  )
}

export const resourceColumns = (assets: readonly Asset[]): Column<RegisteredResource>[] => [
  {
    title: columns.resource,
    width: 'minmax(14rem, 1fr)',
    cell: ({ id, resource }) => (
      <Anchor component={Link} href={`/resources/${id}`} title={isolated(resource)}>
        {isolated(resource)}
      </Anchor>
    ),
  },
  {
    title: columns.price,
    width: '12rem',
    isRight: true,
    cell: ({ accepts }) => <Price accepts={accepts} assets={assets} />,
  },
  { title: columns.version, width: '6rem', cell: ({ x402Version }) => `x402 v${x402Version}` },
  {
    title: columns.ownership,
    width: '9rem',
    cell: ({ ownership }) => <OwnershipBadge ownership={ownership} />,
  },
  { title: columns.updatedAt, width: '9rem', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
]
