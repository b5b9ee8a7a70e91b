import { type Request } from 'express'
import { ApiError } from '../errors'
import { addressKey } from '../rate-limit'
import { createBudget, type Holder, type Reservation } from './memory-budget'
import { createLargeBodySlots, overloaded } from './large-body-slots'
import { collect } from './upload'

/** Bodies up to this size are exempt from the limits on large ones. */
export const SMALL_BYTES = 16_384
/** At a limit, uploads older than this are evicted. */
const EVICT_AFTER_MS = 1_000

const MIB = 1_048_576
/** Authenticated senders have limits of their own, which unauthenticated requests cannot use up. */
const authenticatedLimits = {
  slots: { total: 1_024, perAddress: 256, perSender: 128 },
  bytes: { total: 64 * MIB, perAddress: 32 * MIB, perSender: 16 * MIB },
}
const anonymousLimits = {
  slots: { total: 512, perAddress: 64, perSender: 0 },
  bytes: { total: 16 * MIB, perAddress: 4 * MIB, perSender: 0 },
}

/** `declared` is the Content-Length, undefined for a chunked body; `sender` is set for an authenticated request. */
type Incoming = { declared: number | undefined; limitBytes: number; sender: string | undefined }
type Received = { bytes: Buffer; memory: Reservation | undefined }

/** Receives bodies within limits, in number and bytes, for each sender, each address and the process. */
export function createBodyReceiver() {
  const receiveAuthenticated = createReceiver(authenticatedLimits)
  const receiveAnonymous = createReceiver(anonymousLimits)
  return (req: Request, incoming: Incoming): Promise<Received> =>
    (incoming.sender === undefined ? receiveAnonymous : receiveAuthenticated)(req, incoming)
}

function createReceiver(limits: typeof authenticatedLimits) {
  const slotBudget = createBudget({ total: limits.slots.total, evictAfterMs: EVICT_AFTER_MS })
  const slots = createLargeBodySlots(slotBudget)
  const memoryBudget = createBudget({ total: limits.bytes.total, evictAfterMs: EVICT_AFTER_MS })

  return async (req: Request, { declared, limitBytes, sender }: Incoming): Promise<Received> => {
    const holders = ({ perAddress, perSender }: { perAddress: number; perSender: number }): Holder[] => [
      { key: `address ${addressKey(req)}`, share: perAddress },
      ...(sender === undefined ? [] : [{ key: `sender ${sender}`, share: perSender }]),
    ]
    let memory: Reservation | undefined
    let stop: (reason: ApiError) => void = () => undefined
    const evict = () => stop(overloaded())

    /** A large chunked body reserves the limit, because its length is unknown. */
    function reserve(length: number): ApiError | undefined {
      if (length > limitBytes) return tooLarge(limitBytes)
      if (length <= SMALL_BYTES || memory) return undefined
      memory = memoryBudget.reserve(declared ?? limitBytes, holders(limits.bytes), evict)
      return memory ? undefined : overloaded()
    }
    async function receive(): Promise<Received> {
      const refusal = reserve(declared ?? 0)
      if (refusal) throw refusal
      const upload = collect(req, { declared, limitBytes, onGrowth: reserve })
      stop = upload.stop
      const bytes = await upload.bytes
      if (memory && declared === undefined) {
        memory.release()
        memory = memoryBudget.reserve(bytes.length, holders(limits.bytes))
      }
      memory?.keep()
      return { bytes, memory }
    }

    if (declared !== undefined && declared > limitBytes) throw tooLarge(limitBytes)
    const slot = await slots.acquire(holders(limits.slots), evict)
    try {
      return await receive()
    } catch (error) {
      memory?.release()
      throw error
    } finally {
      slot.release()
    }
  }
}

const tooLarge = (limitBytes: number) =>
  new ApiError('PAYLOAD_TOO_LARGE', `The body is too large; at most ${limitBytes} bytes are accepted`)
