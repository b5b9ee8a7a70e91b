import type { TokenProblem } from '../../family'

/** More than any transfer needs, so that a failure has another cause than gas. */
export const AMPLE_GAS = 3_000_000n

export const NO_BALANCE_WORD =
  'no word of the storage that balanceOf reads is found to be the balance of its holder'

export const tokensFault = (problem: string): TokenProblem => ({ problem, isTokensFault: true })

export const untried = (why: string): TokenProblem => ({
  problem: `The token cannot be tried out: ${why}`,
  isTokensFault: false,
})

export const wantsMoreGas = (what: string, maxGas: bigint): TokenProblem => ({
  problem: `${what} takes more gas than a settlement may use on the network; raise its max_gas of ${maxGas}`,
  isTokensFault: false,
})
