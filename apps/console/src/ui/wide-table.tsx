import { Table, type TableProps } from '@mantine/core'

type Props = TableProps & {
  /** What the table shows, for a screen reader. */
  label: string
  /** Narrower pages scroll it sideways, also by keyboard. */
  minWidth: number
}

export const WideTable = ({ label, minWidth, ...table }: Props) => (
  <Table.ScrollContainer type="native" minWidth={minWidth} tabIndex={0} role="group" aria-label={label}>
    <Table aria-label={label} {...table} />
  </Table.ScrollContainer>
)
