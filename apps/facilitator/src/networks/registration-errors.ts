import { ChainUnavailable } from '@tollgate/chains'
import { ApiError } from '@tollgate/service'
import { type Refused } from './registration'

const states: Record<Refused['registration'], string> = {
  none: '',
  kept: '. The asset is registered, and stays as it is',
  retired:
    '. The asset was registered, and is taken out of use; register it with active true once its token is mended',
}

export const refusalText = ({ problem, registration }: Refused): string => problem + states[registration]

export const networkUnavailable = (cause?: unknown) =>
  new ApiError('UNAVAILABLE', 'The network gives no answer right now; try again in a moment', {
    retryAfterSeconds: 2,
    cause,
  })

export function toUnavailable(error: unknown): never {
  throw error instanceof ChainUnavailable ? networkUnavailable(error) : error
}
