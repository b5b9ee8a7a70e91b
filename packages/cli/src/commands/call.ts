import { TollgateError } from '@tollgate/wallet'
import { type Command } from 'commander'
import { z } from 'zod'
import { parseAssets } from '../assets/known-assets'
import { parseParams, parseWholeParams } from '../call-params'
import { hasDotSegments } from '../dot-segments'
import { CommandError, EXIT, UsageError } from '../exit-codes'
import { payWithinLimits, type ClientOptions, type OpenClient } from '../open-client'
import { printableLines, toJson } from '../output/printable'
import { explainLimits } from '../refused-terms'
import { type Run } from '../run-command'
import { describe } from './help'

type Options = { params?: string; rest?: string }

export const callCommand = (run: Run): Command =>
  describe(
    'call',
    'Call a chain. Spends credits; buys some only with --max-payment, and never for more than that',
    'tollgate call base-sepolia eth_blockNumber',
    'tollgate call 84532 eth_getBalance 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045 latest',
    `tollgate call 84532 eth_call '{"to":"0x…","data":"0x…"}' latest --max-payment "0.05 USDC"`,
    `tollgate call cosmoshub-4 block --params '{"height":"100"}'`,
    'tollgate call osmosis-1 --rest /cosmos/bank/v1beta1/supply',
  )
    .argument('<chain>', 'its name, chain id or CAIP-2 id')
    .argument('[method]', 'of JSON-RPC')
    .argument('[params...]', 'each one JSON or a word, or all as one JSON array')
    .option('--params <json>', 'all the params at once: an array, or an object of names')
    .option('--rest <path>', 'GET this path of the REST API of the chain, with its query')
    .action(
      run<Options, [chain: string, method: string | undefined, params: string[]]>(
        async ({ options, open, output, secrets, signal, words: [chain, method, params] }) => {
          const call = parseCall({ ...options, method, words: params })
          const client = await open(payWithinLimits(options))
          if (secrets.hasKeyIn(toJson(call)))
            throw new UsageError('A parameter is the private key of this wallet, so nothing was sent')
          const done = output.progress(`Calling ${chain}`)
          try {
            if (call.kind === 'rest') {
              const answer = await readRest(client, { chain, path: call.path, signal })
              done()
              if (!answer.isOk) throw restErrorOf(answer)
              output.result(answer.body, () => textOf(answer.body, output.isTerminal))
              return EXIT.OK
            }
            const result = await client.tollgate.request(chain, call.method, call.params, { signal })
            done()
            output.result(result, () => textOf(result, output.isTerminal))
            return EXIT.OK
          } catch (error) {
            done()
            throw await withPrice(error, client, options)
          }
        },
      ),
    )

type Call = { kind: 'rpc'; method: string; params: unknown } | { kind: 'rest'; path: string }

/** @throws UsageError */
export function parseCall({
  method,
  words,
  params,
  rest,
}: Options & { method: string | undefined; words: readonly string[] }): Call {
  if (rest !== undefined) {
    if (method !== undefined || params !== undefined)
      throw new UsageError('--rest takes neither a method nor params')
    return { kind: 'rest', path: restPath(rest) }
  }
  if (method === undefined) throw new UsageError('Name a method of JSON-RPC, or a path with --rest')
  if (params === undefined) return { kind: 'rpc', method, params: parseParams(words) }
  if (words.length > 0) throw new UsageError('Give the params one by one or with --params, not both')
  return { kind: 'rpc', method, params: parseWholeParams(params) }
}

function restPath(text: string): string {
  const path = text.startsWith('/') ? text : `/${text}`
  if (hasDotSegments(path)) throw new UsageError('--rest: the path may not have the segments . and ..')
  return path
}

async function readRest(
  { tollgate }: OpenClient,
  { chain, path, signal }: { chain: string; path: string; signal: AbortSignal },
): Promise<RestAnswer> {
  const answer = await tollgate.fetch(`${tollgate.url}/v1/${encodeURIComponent(chain)}/rest${path}`, {
    signal,
  })
  const { ok: isOk, status, headers } = answer
  const isOfNode = headers.has('x-credits-charged')
  const text = await answer.text()
  try {
    return { isOk, status, isOfNode, body: JSON.parse(text) as unknown }
  } catch {
    return { isOk, status, isOfNode, body: text }
  }
}

type RestAnswer = { isOk: boolean; status: number; isOfNode: boolean; body: unknown }

const Refusal = z.looseObject({ code: z.unknown().optional(), message: z.string() })

/** Of the node, or of the gateway before it. */
export function restErrorOf({ status, isOfNode, body }: Omit<RestAnswer, 'isOk'>): Error {
  const { data } = Refusal.safeParse(body)
  if (!isOfNode)
    return new TollgateError('GATEWAY_ERROR', data?.message ?? `The gateway answered ${status}`, {
      details: { status, ...(data?.code === undefined ? {} : { code: data.code }) },
    })
  const said = data?.message ?? (typeof body === 'string' ? body : toJson(body))
  return new CommandError('REST_ERROR', `The node answered ${status}: ${said}`, '', EXIT.FAILED, {
    status,
    body,
  })
}

/** Files and pipes get a text as it came. */
const textOf = (value: unknown, isTerminal: boolean): string => {
  if (typeof value !== 'string') return toJson(value, 2)
  return isTerminal ? printableLines(value) : value
}

/** An error of the limits, in the units of the asset. */
async function withPrice(
  error: unknown,
  { plan, limits }: OpenClient,
  { asset = [] }: ClientOptions,
): Promise<unknown> {
  const sold = await plan().catch(() => undefined)
  return sold ? explainLimits(error, { plan: sold, limits, known: parseAssets(asset) }) : error
}
