import { Button, Group, Select } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useLocation } from 'wouter'
import { operator } from '../../texts'
import { DayRange } from '../../ui/day-range'
import { SearchField } from '../../ui/search-field'
import {
  type Filters,
  isSearched,
  type ListedState,
  type Wanted,
  wantedBy,
  withSearch,
  withState,
} from '../settlement-filters'

const texts = operator.settlements
const LAST_HOURS = ['1', '24', '168']

type Props = { filters: Filters; apply: (filters: Filters) => void }

export function SettlementSearch({ filters, apply }: Props) {
  const set = (name: 'from' | 'to' | 'endedWithinHours') => (value: string | null) =>
    apply(withSearch(filters, { [name]: value ?? '' }))
  return (
    <search aria-label={texts.search}>
      <SearchBox filters={filters} apply={apply} />
      <Group gap="xs" mt="xs" align="flex-end">
        <Select
          label={texts.show}
          data={Object.entries(texts.states).map(([value, label]) => ({ value, label }))}
          value={filters.state}
          onChange={(state) => state && apply(withState(filters, state as ListedState))}
          allowDeselect={false}
          maxDropdownHeight={400}
          w={260}
        />
        {isSearched(filters) && (
          <>
            <Select
              label={texts.ended}
              placeholder={texts.anyTime}
              data={withCurrent(filters.endedWithinHours).map((hours) => ({
                value: hours,
                label: texts.lastHours(Number(hours)),
              }))}
              value={filters.endedWithinHours ?? null}
              onChange={set('endedWithinHours')}
              clearable
              w={200}
            />
            <DayRange texts={texts} range={filters} set={(name, day) => set(name)(day)} />
            <Button
              variant="subtle"
              leftSection={<IconX size={16} aria-hidden />}
              onClick={() => apply({ state: 'open' })}
            >
              {texts.clear}
            </Button>
          </>
        )}
      </Group>
    </search>
  )
}

const withCurrent = (hours: string | undefined) =>
  hours === undefined || LAST_HOURS.includes(hours) ? LAST_HOURS : [...LAST_HOURS, hours]

function SearchBox({ filters, apply }: Props) {
  const [, navigate] = useLocation()

  function search(text: string) {
    const wanted: Wanted = text === '' ? {} : wantedBy(text)
    if (wanted.id !== undefined) navigate(`/operator/settlements/${wanted.id}`)
    else apply(withSearch(filters, { transaction: '', payer: '', ...wanted }))
  }

  return <SearchField texts={texts} current={filters.transaction ?? filters.payer ?? ''} search={search} />
}
