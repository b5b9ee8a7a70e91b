import { Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type OperatorAsset } from '@tollgate/protocol'
import { operator } from '../../texts'
import { ConfirmButton } from '../../ui/confirm-button'
import { addressUrl } from '../../ui/explorer'
import { Identifier } from '../../ui/identifier'
import { isolated } from '../../ui/isolated'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { type Column, Rows } from '../../ui/rows'
import { StatusBadge } from '../../ui/status-badge'
import { useAdmin, useAdminData } from '../admin'

const texts = operator.assets
const MAX_ASSETS = 200

export function Assets() {
  const { request } = useAdmin()
  const queries = useQueryClient()
  const assets = useAdminData<{ assets: OperatorAsset[]; next: string | null }>(`/assets?limit=${MAX_ASSETS}`)
  const columns: Column<OperatorAsset>[] = [
    { title: texts.network, width: 'minmax(8rem, 1fr)', cell: ({ network }) => network },
    { title: texts.symbol, width: 'minmax(5rem, 0.5fr)', cell: ({ symbol }) => isolated(symbol) },
    {
      title: texts.asset,
      width: 'minmax(13rem, 1.2fr)',
      cell: ({ asset, network }) => <Identifier value={asset} href={addressUrl(network, asset)} />,
    },
    {
      title: texts.state,
      width: 'minmax(8rem, 0.8fr)',
      cell: ({ active, suspendedAt }) => (
        <StatusBadge tone={active ? 'good' : suspendedAt === null ? 'neutral' : 'bad'}>
          {active ? texts.active : suspendedAt === null ? texts.inactive : texts.suspended}
        </StatusBadge>
      ),
    },
    {
      title: texts.suspension,
      width: 'minmax(14rem, 1.6fr)',
      cell: ({ suspension }) => <Text size="sm">{suspension}</Text>,
    },
    {
      title: texts.actions,
      width: 'minmax(8rem, 0.7fr)',
      cell: ({ id, active, symbol }) => (
        <ConfirmButton
          label={active ? texts.deactivate : texts.activate}
          text={active ? texts.deactivateText(symbol) : texts.activateText(symbol)}
          action={active ? texts.deactivate : texts.activate}
          run={async () => {
            await request('POST', `/assets/${id}/${active ? 'deactivate' : 'activate'}`)
            await queries.invalidateQueries({ queryKey: ['admin'] })
          }}
        />
      ),
    },
  ]
  return (
    <Page title={texts.title} text={texts.text}>
      <Loaded query={assets}>
        {(found) => (
          <Rows label={texts.title} rows={found.assets} keyOf={({ id }) => String(id)} columns={columns} />
        )}
      </Loaded>
    </Page>
  )
}
