/** A clock that can be set wrong while payments are under way, and right again. */
export type Leap = { fault: string; wrong: () => Promise<unknown>; right: () => Promise<unknown> }

/** What came of the payments around one leap. */
export type Played = {
  fault: string
  payments: number
  successes: number
  /** Why payments were refused. */
  refusals: string[]
  transfers: number
  /** From the moment that the clock was right again until all was in order. */
  seconds: number
}

/** Payments that are under way when the clock leaps; as many are asked for while it is wrong, and when it is right again. */
export const PAYMENTS = 3
