import fc from 'fast-check'

/** Mostly the one, and the other once in a while. */
export const often = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: rare })

/** One of `count` live values of this name. */
export const live = (name: string, count: number) =>
  fc.nat({ max: count - 1 }).map((index) => `<<${name}:${index}>>`)
