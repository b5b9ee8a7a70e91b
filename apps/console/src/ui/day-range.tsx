import { TextInput } from '@mantine/core'

type Range = { from?: string | undefined; to?: string | undefined }

/** Two fields for days, as `2026-11-28`. `set` gets the one that changed, empty if it was cleared. */
export function DayRange({
  texts,
  range: { from = '', to = '' },
  set,
}: {
  texts: { from: string; to: string }
  range: Range
  set: (name: 'from' | 'to', day: string) => void
}) {
  return (
    <>
      <TextInput
        label={texts.from}
        type="date"
        value={from}
        max={to}
        onChange={({ currentTarget }) => set('from', currentTarget.value)}
      />
      <TextInput
        label={texts.to}
        type="date"
        value={to}
        min={from}
        onChange={({ currentTarget }) => set('to', currentTarget.value)}
      />
    </>
  )
}
