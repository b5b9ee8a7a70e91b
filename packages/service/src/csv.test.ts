import { toCsv } from './csv'

const cellOf = (cell: string) => toCsv(['cell'], [{ cell }]).slice('cell\r\n'.length, -'\r\n'.length)

test('writes a header and a line for each row, each ended by CR LF, in the order of the columns', () => {
  const rows = [
    {
      id: 7n,
      paid: true,
      at: new Date('2026-11-25T10:00:00.000Z'),
      count: -1,
      note: null,
      extra: 'no column',
    },
    { id: 8n, paid: false, at: undefined, count: 0.5, note: 'two words' },
  ]
  expect(toCsv(['id', 'note', 'paid', 'at', 'count'], rows)).toBe(
    'id,note,paid,at,count\r\n7,,true,2026-11-25T10:00:00.000Z,-1\r\n8,two words,false,,0.5\r\n',
  )
})

test('writes the header alone if there are no rows', () => {
  expect(toCsv(['id', 'amount'], [])).toBe('id,amount\r\n')
})

test.each([
  ['plain', 'plain'],
  ['', ''],
  ['a,b', '"a,b"'],
  ['say "yes"', '"say ""yes"""'],
  ['two\nlines', '"two\nlines"'],
  ['two\r\nlines', '"two\r\nlines"'],
  ['Żółć ☂', 'Żółć ☂'],
])('quotes the cell %j as %j', (text, cell) => {
  expect(cellOf(text)).toBe(cell)
})

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', '"\'\t=1"'],
  ['y;=1+1', '"y;=1+1"'],
  ['\r=1', '"\'\r=1"'],
  ['\n=1', '"\'\n=1"'],
  ['=1', "'=1"],
  ['=HYPERLINK("http://a","b")', '"\'=HYPERLINK(""http://a"",""b"")"'],
  ['a=1', 'a=1'],
])('a spreadsheet reads the cell %j as text: %j', (text, cell) => {
  expect(cellOf(text)).toBe(cell)
})
