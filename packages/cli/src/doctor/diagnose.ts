import { type Plan } from '@tollgate/wallet'
import { fileStorage } from '@tollgate/wallet/file-storage'
import { stat } from 'node:fs/promises'
import { formatAmount, priceOf } from '../amounts'
import { assertKnownAsset, parseAssets } from '../assets/known-assets'
import { EXIT, failureOf } from '../exit-codes'
import { explainUrl, findWrongUrl } from '../find-wrong-url'
import {
  approveSameAsset,
  candidates,
  folderOf,
  openReader,
  parsePlan,
  urlOf,
  type OpenClient,
} from '../open-client'
import { time } from '../output/table'
import { type Context } from '../run-command'
import { findOpenPayments } from '../stored-payments'
import { codeOf } from '../wallets/keystore'
import { type OpenWallet } from '../wallets/open-wallet'
import { faucetOf } from '../with-funding'
import { readTokenBalance } from './token-balance'

export type Finding = {
  check: string
  state: 'ok' | 'wrong' | 'skipped'
  message: string
  advice?: string
  /** Of the program, if this is wrong. */
  exitCode?: number
}

type Result = Omit<Finding, 'check'>

/** What earlier checks found. */
type Known = {
  response?: Response
  /** In Unix milliseconds. */
  answeredAt?: number
  plans?: Plan[]
  wallet?: OpenWallet
  payable?: Plan[]
  client?: OpenClient
}

type Check = (known: Known, context: Context) => Result | Promise<Result>

const checks: Record<string, Check> = {
  'URL is reachable': checkUrl,
  'It is a Tollgate gateway': checkGateway,
  'The clocks agree': checkClock,
  'The wallet is readable': checkWallet,
  'A plan fits the wallet': checkPlan,
  'The asset of the plan is known': checkAsset,
  'The wallet can sign in': checkSignIn,
  'The wallet can pay': checkBalance,
  'No payment is open': checkOpenPayments,
  'Node.js is new enough': checkNode,
  'The folder is private': checkFolder,
}

const ok = (message: string): Result => ({ state: 'ok', message })
const skipped = (message: string): Result => ({ state: 'skipped', message })
const wrong = (message: string, advice: string, exitCode: number = EXIT.FAILED): Result => ({
  ...{ state: 'wrong', message, advice, exitCode },
})

/** What is wrong between here and the gateway, check by check. Pays nothing. */
export async function* diagnose(context: Context): AsyncGenerator<Finding> {
  const known: Known = {}
  for (const [name, check] of Object.entries(checks))
    yield { check: name, ...(await attempt(() => check(known, context))) }
}

async function attempt(check: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await check()
  } catch (error) {
    const { message, advice, exitCode } = failureOf(error)
    return wrong(message, advice, exitCode)
  }
}

const TIMEOUT_MS = 10_000

async function checkUrl(known: Known, { options }: Context): Promise<Result> {
  const url = urlOf(options)
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    known.response = await fetch(`${withoutSlash(url)}/pricing`, { signal })
    known.answeredAt = Date.now()
    return ok(url)
  } catch (error) {
    throw (await findWrongUrl(url)) ?? error
  }
}

async function checkGateway(known: Known, { options }: Context): Promise<Result> {
  if (!known.response) return skipped('not reachable')
  const { url } = options
  known.plans = await openReader(options)
    .plans()
    .catch(async (error: unknown) => {
      throw await explainUrl(error, url)
    })
  return ok(`${known.plans.length} plans on sale`)
}

/** Sign-in texts may be 60 s ahead of the gateway's clock. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 30

function checkClock({ response, answeredAt = 0 }: Known): Result {
  const date = Date.parse(response?.headers.get('date') ?? '')
  if (Number.isNaN(date)) return skipped("the gateway's time is not known")
  const seconds = Math.round((answeredAt - date) / 1000)
  const difference = `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} the gateway`
  return Math.abs(seconds) <= MAX_CLOCK_DIFFERENCE_SECONDS
    ? ok(difference)
    : wrong(`This clock is ${difference}`, 'Set the clock: sign-ins and payments carry the time.')
}

async function checkWallet(known: Known, { openWallet }: Context): Promise<Result> {
  known.wallet = await openWallet()
  return ok(`${known.wallet.address}, from ${known.wallet.source}`)
}

function checkPlan(known: Known, { options }: Context): Result {
  const { plans, wallet } = known
  if (!plans || !wallet) return skipped('plans or wallet are not known')
  const { ecosystem } = wallet
  const payable = candidates(plans, { id: parsePlan(options.plan), ecosystem })
  if (payable.length === 0)
    return wrong(
      `No plan is paid by ${ecosystem} wallets`,
      'Use a wallet of a plan of `tollgate plans`; --cosmos makes a Cosmos wallet.',
    )
  known.payable = payable
  const other = payable.find((plan) => plan.ecosystem !== ecosystem)
  if (other)
    return wrong(
      `Plan ${other.id} is paid by ${other.ecosystem} wallets`,
      'This wallet can spend its credits, and cannot buy any.',
    )
  return ok(payable.map((plan) => `${plan.id} (${priceOf(plan)} for ${plan.credits} credits)`).join(', '))
}

async function checkAsset({ payable, wallet }: Known, { options, terminal }: Context): Promise<Result> {
  if (!payable || !wallet) return skipped('there is no wallet or plan')
  const known = parseAssets(options.asset ?? [])
  const storage = fileStorage(folderOf(options, terminal.environment))
  const { url } = openReader(options)
  const results = await Promise.all(
    payable.map(async (plan) => {
      try {
        const found = assertKnownAsset(plan, known)
        await approveSameAsset(found, { wallet, storage, url, options })
        return { asset: `${found.asset} on ${found.network}` }
      } catch (error) {
        return { error }
      }
    }),
  )
  const assets = new Set(results.flatMap(({ asset }) => asset ?? []))
  if (assets.size > 0) return ok([...assets].join(', '))
  throw results[0]?.error
}

async function checkSignIn(known: Known, { open }: Context): Promise<Result> {
  if (!known.wallet || !known.payable) return skipped('there is no wallet or plan')
  known.client = await open()
  await known.client.tollgate.keys.list()
  return ok('signed in')
}

async function checkBalance({ wallet, payable }: Known, { options }: Context): Promise<Result> {
  if (!wallet || !payable) return skipped('there is no wallet or plan')
  const nodes = { url: withoutSlash(urlOf(options)), nodes: options.node ?? [] }
  const balances = await Promise.all(
    payable.map(async (plan) => ({
      plan,
      balance: await readTokenBalance(plan, wallet.address, nodes).catch(() => undefined),
    })),
  )
  const known = balances.flatMap(({ plan, balance }) => (balance === undefined ? [] : [{ plan, balance }]))
  if (known.length === 0) return skipped('no node says the balance; --node CHAIN=URL names one')
  const list = known
    .map(
      ({ plan, balance }) =>
        `${formatAmount(balance, plan.decimals)} ${plan.display_denom} on ${plan.network}`,
    )
    .join(', ')
  return known.some(({ plan, balance }) => balance >= BigInt(plan.amount))
    ? ok(list)
    : wrong(
        `${list}, less than a plan costs`,
        `Send some to ${wallet.address}${faucetOf(urlOf(options), wallet.address)}.`,
      )
}

async function checkOpenPayments({ client }: Known): Promise<Result> {
  if (!client) return skipped('not signed in')
  const open = await findOpenPayments(client.storage, client.wallet.address)
  const [first] = open
  if (!first) return ok('none')
  const since = time(new Date(first.signedAt).toISOString())
  return wrong(
    `${open.length} signed and without an outcome, the first since ${since} UTC, for ${first.url}`,
    'Run the same command again: it sends the same payment. Do not delete the folder.',
    EXIT.PAYMENT_OPEN,
  )
}

function checkNode(): Result {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isNew = major > 20 || (major === 20 && minor >= 19)
  return isNew ? ok(node) : wrong(node, 'Install Node.js 22 or 24.')
}

async function checkFolder(_: Known, { options, terminal }: Context): Promise<Result> {
  const folder = folderOf(options, terminal.environment)
  try {
    const { mode } = await stat(folder)
    if (process.platform === 'win32' || (mode & 0o077) === 0) return ok(folder)
    return wrong(`Others may read ${folder}, which holds sessions and payments`, `Run: chmod 700 ${folder}`)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ok(`${folder}, not made yet`)
    return wrong(`${folder} cannot be used (${codeOf(error)})`, 'Choose another with --folder.')
  }
}

const withoutSlash = (url: string) => url.replace(/\/+$/, '')
