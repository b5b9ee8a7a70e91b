let turn: Promise<void> | undefined

/** Resolves once this turn of the event loop has read all sockets that were readable. One timer for all callers of a turn. */
export const endOfTurn = (): Promise<void> =>
  (turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      resolve()
    })
  }))
