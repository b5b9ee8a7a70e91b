import { parseParams, parseWholeParams } from './call-params'
import { UsageError } from './exit-codes'

describe('the words of a call are its params:', () => {
  test.each<[string[], unknown[]]>([
    [[], []],
    [['latest'], ['latest']],
    [
      ['0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', 'latest'],
      ['0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', 'latest'],
    ],
    [
      ['{"to":"0x1"}', 'latest'],
      [{ to: '0x1' }, 'latest'],
    ],
    [['{"to":"0x1"}'], [{ to: '0x1' }]],
    [['["0x1","latest"]'], ['0x1', 'latest']],
    [
      ['[1,2]', '[3]'],
      [[1, 2], [3]],
    ],
    [['[]'], []],
    [
      ['12', '-3', '1.5'],
      [12, -3, 1.5],
    ],
    [
      ['true', 'false', 'null'],
      [true, false, null],
    ],
    [['"12"'], ['12']],
    [['two words'], ['two words']],
    [['0x10'], ['0x10']],
    [[''], ['']],
    [['12abc'], ['12abc']],
  ])('%j', (words, params) => {
    expect(parseParams(words)).toEqual(params)
  })
})

test.each([[['{to:1}']], [['[1,']], [['"open']], [['9007199254740993']], [['1e3']], [['1.0']], [['007']]])(
  '%j is refused',
  (words) => {
    expect(() => parseParams(words)).toThrow(UsageError)
  },
)

test.each<[string, unknown]>([
  ['{"height":"5"}', { height: '5' }],
  ['[1]', [1]],
])('%s is the whole of the params', (text, params) => {
  expect(parseWholeParams(text)).toEqual(params)
})

test.each(['5', '"text"', 'null', 'latest', '{'])('%s is not the whole of the params', (text) => {
  expect(() => parseWholeParams(text)).toThrow(UsageError)
})
