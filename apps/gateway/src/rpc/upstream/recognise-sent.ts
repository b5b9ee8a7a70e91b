import { isObject } from './find-refusal'
import { parseJson } from './parse-json'
import { readBody } from './read-body'
import { replaceResponses, withJson } from './replace-responses'
import { sentTransactionsOf, type SentTransaction } from './sent-transactions'
import { type Answer } from './upstream-exchange'
import { type UpstreamRequest } from './upstream-request'

/** `known`: the node has this very transaction. `stale`: its account is past it, by this transaction or by another. */
type Verdict = 'known' | 'stale' | undefined

const KNOWN =
  /already ?known|known transaction|already imported|already (exists )?in (the )?(mempool|cache|pool)|already have transaction|transaction already exists|duplicate transaction/i
const STALE = /nonce( is)? too low|old ?nonce|nonce has already been used|nonce too small|already mined/i

/** Codes of the Cosmos SDK: ErrTxInMempoolCache and ErrWrongSequence. */
const SDK_VERDICTS: Partial<Record<number, Verdict>> = { 19: 'known', 32: 'stale' }

const MAX_BYTES = 262_144
const MAX_LOOKUPS = 16

type LookUp = (request: UpstreamRequest) => Promise<Answer | undefined>

/**
 * An upstream that took a transaction and then broke the connection has passed it on: the next one knows it already. The answer
 * has its hash then, as the first one's would have had. `lookUp` asks the same upstream whether it knows a transaction whose
 * account is past it.
 */
export async function recogniseSent(answer: Answer, sent: UpstreamRequest, lookUp: LookUp): Promise<Answer> {
  const transactions = sentTransactionsOf(sent)
  if (transactions.length === 0) return answer
  const text = (await readBody(answer, MAX_BYTES))?.toString()
  const body = text === undefined ? undefined : parseJson(text)
  if (text === undefined || body === undefined) return answer
  const responses = [body].flat() as unknown[]
  const lookUps = { remaining: MAX_LOOKUPS }
  const recognised = await Promise.all(
    responses.map(async (response, index) => {
      const transaction = transactionOf(response, transactions, { index, isBatch: Array.isArray(body) })
      if (!transaction) return undefined
      const verdict = verdictOf(response)
      if (verdict === 'known') return transaction
      if (verdict !== 'stale' || lookUps.remaining-- <= 0) return undefined
      return (await isFound(transaction, sent, lookUp)) ? transaction : undefined
    }),
  )
  if (!recognised.some(Boolean)) return answer
  const [first] = recognised
  if (first?.form === 'rest') return withJson(answer, JSON.stringify(restAnswer(first.hash)))
  return replaceResponses(answer, text, (index) => {
    const transaction = recognised[index]
    return transaction && `"result":${JSON.stringify(resultOf(transaction))}`
  })
}

function transactionOf(
  response: unknown,
  transactions: readonly SentTransaction[],
  { index, isBatch }: { index: number; isBatch: boolean },
): SentTransaction | undefined {
  if (!isBatch) return transactions[index]
  const id = isObject(response) ? JSON.stringify(response.id) : undefined
  const withId = transactions.filter((transaction) => JSON.stringify(transaction.id) === id)
  return withId.length === 1 ? withId[0] : undefined
}

/** Pure, and tried as a table. */
export function verdictOf(response: unknown): Verdict {
  if (!isObject(response)) return undefined
  const { error, result, tx_response: delivered, message } = response
  const checked = isObject(delivered) ? delivered : isObject(result) ? result : undefined
  if (checked)
    return checked.codespace === 'sdk' && typeof checked.code === 'number'
      ? SDK_VERDICTS[checked.code]
      : undefined
  const words = isObject(error) ? `${text(error.message)} ${text(error.data)}` : text(message)
  if (KNOWN.test(words)) return 'known'
  return STALE.test(words) ? 'stale' : undefined
}

const text = (value: unknown) => (typeof value === 'string' ? value : '')

async function isFound({ form, hash }: SentTransaction, sent: UpstreamRequest, lookUp: LookUp) {
  const answer = await lookUp({
    ...sent,
    ...lookUpOf(form, hash, sent),
    kind: 'read',
    acceptEncoding: undefined,
  })
  if (answer?.status !== 200) return false
  const body = parseJson(answer.body.toString())
  const found = isObject(body) ? (form === 'rest' ? body.tx_response : body.result) : undefined
  return isObject(found)
}

function lookUpOf(form: SentTransaction['form'], hash: string, { resource }: UpstreamRequest) {
  if (form === 'rest')
    return { method: 'GET' as const, resource: `/cosmos/tx/v1beta1/txs/${hash}`, payload: Buffer.from('{}') }
  const call =
    form === 'evm'
      ? { method: 'eth_getTransactionByHash', params: [hash] }
      : { method: 'tx', params: { hash: Buffer.from(hash, 'hex').toString('base64'), prove: false } }
  return {
    method: 'POST' as const,
    resource: form === 'evm' ? resource : '',
    payload: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...call })),
  }
}

const resultOf = ({ form, hash }: SentTransaction) =>
  form === 'evm' ? hash : { code: 0, data: '', log: '', codespace: '', hash }

const restAnswer = (txhash: string) => ({
  tx_response: {
    height: '0',
    txhash,
    codespace: '',
    code: 0,
    data: '',
    raw_log: '',
    logs: [],
    info: '',
    gas_wanted: '0',
    gas_used: '0',
    tx: null,
    timestamp: '',
    events: [],
  },
})
