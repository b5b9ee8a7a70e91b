/** A clock that a scenario sets wrong while payments are in flight, and right again. */
export type ClockJump = { fault: string; wrong: () => Promise<unknown>; right: () => Promise<unknown> }

/** The outcomes of the payments around one jump. */
export type JumpResult = {
  fault: string
  payments: number
  successes: number
  /** Why payments were refused. */
  refusals: string[]
  transfers: number
  /** From the moment that the clock was right again until all was in order. */
  seconds: number
}

/** Payments in flight at the jump; as many follow while the clock is wrong, and after it is right again. */
export const PAYMENTS = 3
