import { Button, Stack } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'
import { withQuery } from '../../api/api'
import { merchant, shared } from '../../texts'
import { CsvButton } from '../../ui/csv-button'
import { PagedRows } from '../../ui/paged-rows'
import { Page } from '../../ui/page'
import { sendAsUser } from '../api'
import { FilterBar } from './filter-bar'
import { type Filters, readFilters, toQuery } from './filters'
import { NoSettlements } from './no-settlements'
import { settlementColumns } from './settlement-columns'
import { SETTLEMENTS, useSettlements } from './use-settlements'

const texts = merchant.settlements
const CSV_PAGE = 10_000

export function Settlements() {
  const search = useSearch()
  const [, navigate] = useLocation()
  const filters = useMemo(() => readFilters(search), [search])
  const settlements = useSettlements(filters)
  const queries = useQueryClient()
  const apply = (next: Filters) => navigate(withQuery('/settlements', next), { replace: true })
  return (
    <Page
      title={merchant.pages.settlements}
      text={texts.text}
      actions={
        <>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconRefresh size={16} aria-hidden />}
            loading={settlements.isRefetching && !settlements.isFetchingNextPage}
            onClick={() => void queries.resetQueries({ queryKey: SETTLEMENTS })}
          >
            {shared.refresh}
          </Button>
          <CsvButton
            path={withQuery('/api/v1/settlements', { ...toQuery(filters), limit: CSV_PAGE })}
            fileName="settlements.csv"
            send={sendAsUser}
          />
        </>
      }
    >
      <Stack gap="md">
        <FilterBar filters={filters} apply={apply} />
        <PagedRows
          label={merchant.pages.settlements}
          pages={settlements}
          keyOf={({ id }) => id}
          columns={settlementColumns}
          empty={<NoSettlements isFiltered={search !== ''} clear={() => apply({})} />}
        />
      </Stack>
    </Page>
  )
}
