const columns = {
  round: 'round',
  gateways: 'gateways',
  calls: 'calls',
  payments: 'pays',
  served: '200',
  failed: '500',
  unpaid: '402',
  pending: '503',
  cut: 'cut',
  done: 'done',
  refunded: 'refunded',
  servedFree: 'free',
  cutFree: 'unheard',
  credited: 'credited',
  transfers: 'chain',
  resolved: 'resolved',
  problems: 'broken',
}
export type Column = keyof typeof columns
type Row = Record<Column, number>

/** Columns whose total is the last value; other columns have a sum or the worst value. */
const latest: Column[] = ['credited', 'transfers']
const names = Object.keys(columns) as Column[]
const WIDTH = 8

/** Prints a line after each round, and one for all rounds. */
export function createTable(say: (line: string) => void) {
  const rows: Row[] = []
  const print = (cells: string[]) => say(cells.map((cell) => cell.padStart(WIDTH)).join(' '))
  const header = () => print(names.map((name) => columns[name]))
  const cell = (name: Column, value: number) =>
    name === 'resolved' ? `${value.toFixed(1)} s` : String(value)

  return {
    rows: rows as readonly Row[],
    row(row: Row) {
      if (rows.length % 10 === 0) header()
      rows.push(row)
      print(names.map((name) => cell(name, row[name])))
    },
    totals() {
      header()
      const total = (name: Column) => {
        const values = rows.map((row) => row[name])
        if (name === 'round') return 'total'
        if (name === 'gateways') return ''
        if (name === 'resolved') return `≤${cell(name, Math.max(...values))}`
        if (latest.includes(name)) return String(values.at(-1) ?? 0)
        return String(values.reduce((sum, value) => sum + value, 0))
      }
      print(names.map(total))
    },
  }
}
