import { Button, Group, Select, TextInput } from '@mantine/core'
import { IconSearch, IconX } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { operator } from '../../texts'
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
            <TextInput
              label={texts.from}
              type="date"
              value={filters.from ?? ''}
              max={filters.to ?? ''}
              onChange={({ currentTarget }) => set('from')(currentTarget.value)}
            />
            <TextInput
              label={texts.to}
              type="date"
              value={filters.to ?? ''}
              min={filters.from ?? ''}
              onChange={({ currentTarget }) => set('to')(currentTarget.value)}
            />
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
  const current = filters.transaction ?? filters.payer ?? ''
  const [text, setText] = useState(current)
  useEffect(() => setText(current), [current])

  function submit(event: { preventDefault: () => void }) {
    event.preventDefault()
    const wanted: Wanted = text.trim() === '' ? {} : wantedBy(text.trim())
    if (wanted.id !== undefined) navigate(`/operator/settlements/${wanted.id}`)
    else apply(withSearch(filters, { transaction: '', payer: '', ...wanted }))
  }

  return (
    <form onSubmit={submit}>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <TextInput
          label={texts.search}
          placeholder={texts.placeholder}
          leftSection={<IconSearch size={16} aria-hidden />}
          type="search"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          flex={1}
          miw={0}
          spellCheck={false}
          autoComplete="off"
        />
        <Button type="submit">{texts.find}</Button>
      </Group>
    </form>
  )
}
