import { z } from 'zod'
import { ChainUnavailable } from '../../../errors'
import { Data, hex } from '../../rpc-schemas'
import type { EvmNetwork } from '../../network'
import { PROXY } from './contracts'
import { asksToSettle, type Call, HEAD_BYTES, SELECTORS } from './transfer'

/**
 * A tracer in JavaScript, for nodes that run custom tracers. Returns the heads of the proxy calls that settled a payment and
 * were not reverted, without the outermost call. The built-in tracer would return every call, and a third party can add any
 * number of long ones.
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

/** A call and its inner calls, in the format of geth's callTracer. */
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

/** A failed call reverts its inner calls. Only a CALL runs the proxy's code as the proxy, and with effect. */
const settlementsIn = (frame: Frame): Call[] =>
  frame.failed
    ? []
    : [
        ...(frame.type === 'CALL' && asksToSettle(frame) ? [frame] : []),
        ...frame.calls.flatMap(settlementsIn),
      ]

/**
 * The proxy calls by which a transaction settled payments. `sent`: its outermost call. `count`: the number of the proxy's
 * events. Skips a node whose trace has another number of calls; rejects with `ChainUnavailable` if no node remains.
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
