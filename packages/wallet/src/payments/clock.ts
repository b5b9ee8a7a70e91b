import { TollgateError } from '../errors.js'

/** `skew`: by how many seconds this machine's clock is behind that of the server, or ahead if negative. */
export function clockWrong(skew: number, consequence: string, cause?: unknown): TollgateError {
  const seconds = Math.round(Math.abs(skew))
  const side = skew > 0 ? 'behind' : 'ahead of'
  return new TollgateError(
    'CLOCK_WRONG',
    `The clock of this machine is ${seconds} seconds ${side} that of the server: ${consequence}`,
    { cause },
  )
}
