import { type Request } from 'express'
import { ApiError } from '../errors'
import { addressKey } from '../rate-limit'
import { createBudget, type Holder, type Reservation } from './budget'
import { createPlaces, overloaded } from './places'
import { collect } from './upload'

/** Up to this size a body is read, parsed and forwarded whatever large bodies are under way. */
export const SMALL_BYTES = 16_384
/** Where a bound is reached, uploads that are older than this give way. */
const PATIENCE_MS = 1_000

const MIB = 1_048_576
/** Senders whose credentials were checked have places and memory that all others cannot take. */
const known = {
  places: { total: 1_024, ofAddress: 256, ofSender: 128 },
  bytes: { total: 64 * MIB, ofAddress: 32 * MIB, ofSender: 16 * MIB },
}
const unknown = {
  places: { total: 512, ofAddress: 64, ofSender: 0 },
  bytes: { total: 16 * MIB, ofAddress: 4 * MIB, ofSender: 0 },
}

/** `declared` is the body's length, undefined for one in chunks; `sender` is who sends it, where credentials have shown that. */
type Incoming = { declared: number | undefined; limitBytes: number; sender: string | undefined }
/** A body, and what it holds of the memory for large ones. */
type Received = { bytes: Buffer; memory: Reservation | undefined }

/** Where bodies are read: with a bound, in number and bytes, for each sender, each address and the process. */
export function createUploadRoom() {
  const [forKnown, forUnknown] = [createPart(known), createPart(unknown)]
  return (req: Request, incoming: Incoming): Promise<Received> =>
    (incoming.sender === undefined ? forUnknown : forKnown)(req, incoming)
}

function createPart({ places, bytes: room }: typeof known) {
  const enter = createPlaces(createBudget({ total: places.total, patienceMs: PATIENCE_MS }))
  const budget = createBudget({ total: room.total, patienceMs: PATIENCE_MS })

  return async (req: Request, { declared, limitBytes, sender }: Incoming): Promise<Received> => {
    const holders = ({ ofAddress, ofSender }: { ofAddress: number; ofSender: number }): Holder[] => [
      { key: `address ${addressKey(req)}`, share: ofAddress },
      ...(sender === undefined ? [] : [{ key: `sender ${sender}`, share: ofSender }]),
    ]
    let memory: Reservation | undefined
    let stop: (reason: ApiError) => void = () => undefined
    const evict = () => stop(overloaded())

    /** A body in chunks that turns out to be large may still become as large as any. */
    function reserve(length: number): ApiError | undefined {
      if (length > limitBytes) return tooLarge(limitBytes)
      if (length <= SMALL_BYTES || memory) return undefined
      memory = budget.reserve(declared ?? limitBytes, holders(room), evict)
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
        memory = budget.reserve(bytes.length, holders(room))
      }
      memory?.keep()
      return { bytes, memory }
    }

    if (declared !== undefined && declared > limitBytes) throw tooLarge(limitBytes)
    const place = await enter(holders(places), evict)
    try {
      return await receive()
    } catch (problem) {
      memory?.release()
      throw problem
    } finally {
      place.release()
    }
  }
}

const tooLarge = (limitBytes: number) =>
  new ApiError('PAYLOAD_TOO_LARGE', `The body is too large; at most ${limitBytes} bytes are taken`)
