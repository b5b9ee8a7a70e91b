import { TollgateError } from '../errors'

type Request = { id: unknown; method: string; params?: unknown }
type Methods = Record<string, (params: never) => unknown>

/** Thrown by a method: the node's error. */
export class NodeFailure extends Error {
  constructor(readonly error: { code: number; message: string; data?: unknown }) {
    super(error.message)
  }
}

/** A `send` to a node with these methods, which answers batches last call first; `sent` are the bodies. */
export function createNode(methods: Methods) {
  const sent: unknown[] = []
  const chains = new Set<string>()
  function answer({ id, method, params }: Request) {
    try {
      const found = methods[method]
      if (!found) throw new NodeFailure({ code: -32601, message: `the method ${method} does not exist` })
      return { jsonrpc: '2.0', id, result: found(params as never) }
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error
      return { jsonrpc: '2.0', id, error: error.error }
    }
  }
  return {
    sent,
    chains,
    /** Of all calls, in their order. */
    methods: () => (sent.flat() as Request[]).map(({ method }) => method),
    // eslint-disable-next-line typescript/require-await -- what is thrown is to reject
    send: async (chain: string, body: unknown): Promise<unknown> => {
      sent.push(body)
      chains.add(chain)
      return Array.isArray(body) ? (body as Request[]).map(answer).toReversed() : answer(body as Request)
    },
  }
}

export const limitReached = () =>
  new TollgateError('LIMIT_REACHED', 'The payment of 0.01 USDC is above the limit of the day')

/** The lines on the console. Jest itself fails a test that leaves a rejected promise behind. */
export function watchConsole() {
  const lines: unknown[][] = []
  const spies = (['log', 'warn', 'error'] as const).map((name) =>
    jest.spyOn(console, name).mockImplementation((...line: unknown[]) => void lines.push(line)),
  )
  return {
    lines,
    /** Rejections are reported once the microtasks are done. */
    async stop() {
      await new Promise(setImmediate)
      for (const spy of spies) spy.mockRestore()
    },
  }
}
