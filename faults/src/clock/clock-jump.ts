/** Sets a clock wrong while payments are in flight, and right again. */
export type ClockJump = { fault: string; wrong: () => Promise<unknown>; right: () => Promise<unknown> }

export type JumpResult = {
  fault: string
  payments: number
  successes: number
  refusals: string[]
  transfers: number
  /** From the correction of the clock until the recovery. */
  seconds: number
}

/**
 * Payments in flight at the jump; the same number is sent while the clock is wrong, and after its correction.
 */
export const PAYMENTS = 3
