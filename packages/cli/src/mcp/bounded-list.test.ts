import { boundList } from './bounded-list'

describe('a list of others', () => {
  test('is whole if it is short', () => {
    const items = [{ a: 'b', c: [null, 1] }, { a: 'd' }]
    expect(boundList(items)).toEqual({ items })
  })

  test('has as many items as fit', () => {
    const { items, note } = boundList(
      Array.from({ length: 100 }, () => 'x'.repeat(97)),
      1_000,
    )
    expect([items.length, note]).toEqual([10, 'Only the first 10 of 100 are here.'])
  })

  test.each([['x'.repeat(3_000_000)], [{ name: 'x'.repeat(3_000_000) }], [{ ['x'.repeat(3_000_000)]: 1 }]])(
    'has no long text',
    (item) => {
      const { items, note } = boundList([item])
      expect(JSON.stringify(items).length).toBeLessThan(600)
      expect(note).toContain('shortened')
    },
  )

  test('has no item that alone is too long', () => {
    const { items, note } = boundList([Array.from({ length: 300_000 }, () => 1), 2])
    expect([items, note]).toEqual([[], 'Only the first 0 of 2 are here.'])
  })
})
