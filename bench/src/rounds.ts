import { type BenchmarkContext } from './benchmark'

/** The middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  if (upper === undefined || lower === undefined) throw new Error('There is no median of no values')
  return (lower + upper) / 2
}

export const medianOf = <Sample>(samples: readonly Sample[], figure: (sample: Sample) => number): number =>
  median(samples.map(figure))

/**
 * A confidence interval of the median, of at least 95 % for independent values of any distribution: the two values of a rank from
 * below and from above that the binomial distribution gives. Undefined for fewer than 6 values.
 */
export function medianInterval(values: readonly number[]): [lower: number, upper: number] | undefined {
  const sorted = values.toSorted((one, other) => one - other)
  const rank = confidenceRank(sorted.length)
  const [lower, upper] = [sorted[rank - 1], sorted[sorted.length - rank]]
  return lower === undefined || upper === undefined ? undefined : [lower, upper]
}

/** The largest rank that at most 2.5 % of all samples have above the median; 0 if there is none. */
function confidenceRank(count: number): number {
  let rank = 0
  let term = 0.5 ** count
  for (let below = term; below <= 0.025; below += term) {
    rank++
    term *= (count - rank + 1) / rank
  }
  return rank
}

type Contenders<Name extends string, Sample> = Record<Name, (round: number) => Promise<Sample>>

/**
 * Runs the contenders in turn in each round, so that other work of the machine affects all of them, and returns the samples of
 * each. Each round begins with the next one: none always follows the same other. Warm up before: every sample counts.
 */
export async function interleave<Name extends string, Sample>(
  { rounds, progress }: Pick<BenchmarkContext, 'rounds' | 'progress'>,
  contenders: Contenders<Name, Sample>,
  describe?: (sample: Sample) => string,
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(contenders) as Name[]
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>
  for (let round = 1; round <= rounds; round++) {
    const first = (round - 1) % names.length
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      const sample = await contenders[name](round)
      samples[name].push(sample)
      progress(`round ${round} of ${rounds}: ${name}${describe ? ` ${describe(sample)}` : ''}`)
    }
  }
  return samples
}
