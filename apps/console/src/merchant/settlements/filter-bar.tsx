import { Button, Group, Select, Text } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useLocation } from 'wouter'
import { merchant } from '../../texts'
import { DayRange } from '../../ui/day-range'
import { SearchField } from '../../ui/search-field'
import { useKeyTitles } from '../keys/use-client-keys'
import { useNetworkNames } from '../use-networks'
import { type Filters, isSettlementId, searched, searchNameOf, searchNames, withSearch } from './filters'
import { settlementStates } from './settlement'

const texts = merchant.settlements.filters

type Props = { filters: Filters; apply: (filters: Filters) => void }

export function FilterBar({ filters, apply }: Props) {
  const networks = useNetworkNames()
  const keys = useKeyTitles()
  const set = (name: keyof Filters) => (value: string | null) => apply({ ...filters, [name]: value ?? '' })
  const isEmpty = Object.keys(filters).length === 0
  return (
    <search aria-label={texts.label}>
      <SearchBox filters={filters} apply={apply} />
      <Group gap="xs" mt="xs" align="flex-end" className="filters">
        <Select
          label={texts.state}
          placeholder={texts.any}
          data={settlementStates.map((value) => ({ value, label: merchant.settlements.states[value] }))}
          value={filters.state ?? null}
          onChange={set('state')}
          clearable
        />
        <Select
          label={texts.network}
          placeholder={texts.any}
          data={withCurrent(networks, filters.network)}
          value={filters.network ?? null}
          onChange={set('network')}
          clearable
        />
        <Select
          label={texts.key}
          placeholder={texts.any}
          data={withCurrent([...keys.keys()], filters.clientId).map((id) => ({
            value: id,
            label: keys.get(id) ?? id,
          }))}
          value={filters.clientId ?? null}
          onChange={set('clientId')}
          clearable
          searchable
          className="wide"
        />
        <DayRange texts={texts} range={filters} set={(name, day) => set(name)(day)} />
        {!isEmpty && (
          <Button variant="subtle" leftSection={<IconX size={16} aria-hidden />} onClick={() => apply({})}>
            {texts.clear}
          </Button>
        )}
      </Group>
    </search>
  )
}

/** A revoked key and a network of before are in no list. */
const withCurrent = (known: readonly string[], current: string | undefined) =>
  current === undefined || known.includes(current) ? known : [...known, current]

/** Finds by the shape of the text; the reader may say that it is something else. */
function SearchBox({ filters, apply }: Props) {
  const [, navigate] = useLocation()
  const current = searched(filters)

  function search(text: string) {
    if (isSettlementId(text)) navigate(`/settlements/${text}`)
    else apply(withSearch(filters, text === '' ? undefined : { name: searchNameOf(text), text }))
  }

  return (
    <>
      <SearchField texts={texts} current={current?.text ?? ''} search={search} />
      {current !== undefined && (
        <Group gap="xs" mt={6}>
          <Text size="sm" c="dimmed">
            {texts.searchedAs}
          </Text>
          {searchNames
            .filter((name) => name === current.name || isAlternative(current.name, name))
            .map((name) => (
              <Button
                key={name}
                size="compact-xs"
                variant={name === current.name ? 'filled' : 'default'}
                aria-pressed={name === current.name}
                onClick={() => apply(withSearch(filters, { name, text: current.text }))}
              >
                {texts.names[name]}
              </Button>
            ))}
        </Group>
      )}
    </>
  )
}

const ADDRESSES = ['payer', 'recipient']

/** An address may be of either side. */
const isAlternative = (one: string, other: string) => ADDRESSES.includes(one) && ADDRESSES.includes(other)
