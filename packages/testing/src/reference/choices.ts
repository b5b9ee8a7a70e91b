import fc from 'fast-check'

export const often = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: rare })

/** A placeholder for one of `count` live values of this name. */
export const live = (name: string, count: number) =>
  fc.nat({ max: count - 1 }).map((index) => `<<${name}:${index}>>`)
