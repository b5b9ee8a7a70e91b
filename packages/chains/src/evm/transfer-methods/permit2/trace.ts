import { z } from 'zod'
import { ChainUnavailable } from '../../../family'
import { Data, hex } from '../../rpc-schemas'
import type { EvmNetwork } from '../../network'
import { PROXY } from './contracts'
import { asksToSettle, type Call, HEAD_BYTES, SELECTORS } from './transfer'

/**
 * For nodes that run tracers of one's own, in the JavaScript that all of them understand: the calls that asked the proxy to
 * settle something and that nothing undid, no more of each than tells what. A stranger may put as many others around them as
 * it likes, each as long as it likes, and the node's own tracer answers them all. The outermost call is not among them.
 */
const tracer = `{
  open: [],
  heads: [],
  enter: function (call) {
    var head = ''
    if (call.getType() === 'CALL' && toHex(call.getTo()) === '${PROXY.toLowerCase()}') {
      var input = call.getInput()
      head = toHex(slice(input, 0, Math.min(input.length, ${HEAD_BYTES})))
    }
    this.open.push({ before: this.heads.length, head: head })
  },
  exit: function (outcome) {
    var call = this.open.pop()
    if (outcome.getError()) this.heads.length = call.before
    else if (/^(${SELECTORS.join('|')})/.test(call.head)) this.heads.push(call.head)
  },
  fault: function () {},
  result: function () {
    return this.heads
  }
}`

const Address = hex(/^0x[0-9a-f]{40}$/i)

/** A call and those that it made, as the tracer tells them that geth and its kin bring along. */
type Frame = Call & { type: string; failed: boolean; calls: Frame[] }
const Frame: z.ZodType<Frame> = z
  .object({
    type: z.string(),
    to: Address.nullish(),
    input: Data,
    error: z.string().nullish(),
    get calls() {
      return z.array(Frame).nullish()
    },
  })
  .transform(({ type, to, input, error, calls }) => ({
    type,
    to: to ?? '',
    input,
    failed: typeof error === 'string',
    calls: calls ?? [],
  }))

/** What fails undoes all that it did. By any other type of call the proxy's code runs as somebody else's, or changes nothing. */
const settlementsIn = (frame: Frame): Call[] =>
  frame.failed
    ? []
    : [
        ...(frame.type === 'CALL' && asksToSettle(frame) ? [frame] : []),
        ...frame.calls.flatMap(settlementsIn),
      ]

/**
 * The calls of the proxy by which a transaction settled something: `count` of them, by the proxy's own events. `sent` is its
 * outermost call. A node that traces another number of them is wrong, and is passed over; rejects with `ChainUnavailable`
 * where none is left.
 */
export async function settlementsBy(
  { rpc, name }: EvmNetwork,
  { hash, sent, count }: { hash: string; sent: Call; count: number },
): Promise<Call[]> {
  const outermost = asksToSettle(sent) ? [sent] : []
  const isWhole = (calls: readonly Call[]) => calls.length === count
  if (isWhole(outermost)) return outermost
  const Heads = z
    .array(Data)
    .transform((heads): Call[] => [...outermost, ...heads.map((input) => ({ to: PROXY, input }))])
  const trace = (schema: z.ZodType<Call[]>, by: string) =>
    rpc.call(schema.refine(isWhole), 'debug_traceTransaction', [hash, { tracer: by }])
  return trace(Heads, tracer)
    .catch(() => trace(Frame.transform(settlementsIn), 'callTracer'))
    .catch((cause: unknown) => {
      throw new ChainUnavailable(
        `It is unknown what ${hash} settled: give ${name} an RPC URL whose node offers debug_traceTransaction for it`,
        { cause },
      )
    })
}
