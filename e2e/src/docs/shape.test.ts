import { differences } from './shape'

describe('an answer', () => {
  test.each<[string, unknown, unknown]>([
    ['other values', { a: 1, b: 'x', c: [true] }, { a: 2, b: 'y', c: [false, true] }],
    ['no elements', { a: [] }, { a: [] }],
    ['elements of which each is like one that is shown', [{ a: null }, { a: 'x' }], [{ a: 'y' }]],
  ])('of the same shape may have %s', (_, shown, came) => {
    expect(differences(shown, came)).toEqual([])
  })

  test.each<[string, unknown, unknown, string]>([
    ['another type', { a: '1' }, { a: 1 }, 'the answer.a is number, shown is string'],
    ['null', { a: '1' }, { a: null }, 'the answer.a is null, shown is string'],
    ['a list', { a: {} }, { a: [] }, 'the answer.a is list, shown is object'],
    ['a member more', {}, { a: 1 }, 'the answer.a came and is not shown'],
    ['a member less', { a: 1 }, {}, 'the answer.a did not come'],
    ['an element too many', [], [1], 'the answer has 1 elements, shown are 0'],
    ['no elements any more', [1], [], 'the answer has 0 elements, shown are 1'],
    [
      'an element mixed of two',
      [{ a: 1 }, { b: 1 }],
      [{ a: 1, b: 1 }],
      'the answer[0].b came and is not shown',
    ],
    ['one element that differs', [{ a: 1 }], [{ a: 1 }, { b: 1 }], 'the answer[1].a did not come'],
  ])('with %s has another shape', (_, shown, came, difference) => {
    expect(differences(shown, came)).toContain(difference)
  })
})
