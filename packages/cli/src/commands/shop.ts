import { fileStorage } from '@tollgate/wallet/file-storage'
import { Option, type Command } from 'commander'
import { formatAmount } from '../amounts'
import { UsageError } from '../exit-codes'
import { folderOf } from '../open-client'
import { facts, table, time } from '../output/table'
import { type Context, type Run } from '../run-command'
import {
  type ClientKey,
  type NewClientKey,
  type Range,
  type Requests,
  type Settlements,
} from '../shop/shop-client'
import { readPassword } from '../wallets/password'
import { collect, describe } from './help'
import { parseCount } from './keys'

type ShopOptions = { facilitator?: string }

export const shopCommand = (run: Run): Command =>
  describe(
    'shop',
    'A merchant at the facilitator: account, client keys, settlements',
    'tollgate shop login --facilitator https://facilitator.example --email me@shop.example',
  )
    .option('--facilitator <url>', 'the facilitator (TOLLGATE_FACILITATOR)')
    .addCommand(signUpCommand(run))
    .addCommand(loginCommand(run))
    .addCommand(logoutCommand(run))
    .addCommand(
      describe('keys', 'Client keys, with which your servers verify and settle', 'tollgate shop keys list')
        .addCommand(listKeysCommand(run))
        .addCommand(createKeyCommand(run))
        .addCommand(deleteKeyCommand(run)),
    )
    .addCommand(settlementsCommand(run))
    .addCommand(metricsCommand(run))

/** Loads what only these commands need. */
async function openShop({ options, terminal }: Pick<Context<ShopOptions>, 'options' | 'terminal'>) {
  const { facilitator: url } = options
  if (url === undefined)
    throw new UsageError('Give the URL of a facilitator with --facilitator or TOLLGATE_FACILITATOR')
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw new UsageError('--facilitator is an http(s) URL')
  const { createShopClient } = await import('../shop/shop-client.js')
  return createShopClient({
    url: new URL(url).href,
    storage: fileStorage(folderOf(options, terminal.environment)),
  })
}

type Credentials = ShopOptions & { email: string; invitation?: string }

const askPassword = (context: Context<Credentials>, isNew: boolean) => {
  const { email, passwordFile } = context.options
  const question = `${isNew ? 'New password' : 'Password'} of ${email}`
  return readPassword({ question, passwordFile, variable: 'TOLLGATE_SHOP_PASSWORD', isNew }, context)
}

const PASSWORD_HELP =
  'The password is typed without echo, or comes from TOLLGATE_SHOP_PASSWORD or --password-file.'

const signUpCommand = (run: Run) =>
  describe(
    'signup',
    `Create an account, and log in. ${PASSWORD_HELP}`,
    'tollgate shop signup --email me@shop.example',
  )
    .requiredOption('--email <email>', 'the account')
    .option('--invitation <token>', 'where sign-up is by invitation')
    .action(
      run<Credentials>(async (context) => {
        const { email, invitation } = context.options
        const shop = await openShop(context)
        const password = await askPassword(context, true)
        const user = await shop.signUp({
          email,
          password,
          ...(invitation === undefined ? {} : { invitation }),
        })
        await shop.logIn({ email, password })
        context.output.result(user, () => `Signed up and logged in as ${user.email}, user ${user.id}.`)
      }),
    )

const loginCommand = (run: Run) =>
  describe('login', `Log in for 30 days. ${PASSWORD_HELP}`, 'tollgate shop login --email me@shop.example')
    .requiredOption('--email <email>', 'the account')
    .action(
      run<Credentials>(async (context) => {
        const { email } = context.options
        const shop = await openShop(context)
        const { id } = await shop.logIn({ email, password: await askPassword(context, false) })
        context.output.result({ id, email }, () => `Logged in as ${email}, user ${id}.`)
      }),
    )

const logoutCommand = (run: Run) =>
  describe('logout', 'Forget the login on this machine', 'tollgate shop logout').action(
    run<ShopOptions>(async (context) => {
      await (await openShop(context)).logOut()
      context.output.result({ logged_out: true }, () => 'Logged out.')
    }),
  )

const PAGE_SIZE = 100

const listKeysCommand = (run: Run) =>
  describe('list', 'List your client keys, the newest first', 'tollgate shop keys list').action(
    run<ShopOptions>(async (context) => {
      const shop = await openShop(context)
      const keys: ClientKey[] = []
      for (let hasMore = true; hasMore;) {
        const page = await shop.listKeys({ offset: keys.length, limit: PAGE_SIZE })
        keys.push(...page)
        hasMore = page.length === PAGE_SIZE
      }
      context.output.result(keys, (colors) =>
        table(
          colors,
          ['Id', 'Title', 'Scope', 'Created (UTC)', 'Expires (UTC)'],
          keys.map(({ clientId, title, scope, createdAt, expiresAt }) => [
            ...[clientId, title, scope || 'all', time(createdAt), time(expiresAt)],
          ]),
          'No client keys.',
        ),
      )
    }),
  )

type KeyOptions = ShopOptions & {
  scope?: string
  ttlHours?: string
  payTo?: string[]
  maxFeesPerDay?: string
  maxPaymentsPerMinute?: string
}

const createKeyCommand = (run: Run) =>
  describe(
    'create',
    'Create a client key. Its token is a secret, and shown once',
    'tollgate shop keys create "Weather shop" --scope verify,settle --pay-to 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  )
    .argument('<title>', 'what it is for')
    .option(
      '--scope <words>',
      'any of verify, settle, supported and settlements, with commas; all, if left out',
    )
    .option('--ttl-hours <hours>', 'after how many hours it expires; never, if left out')
    .option('--pay-to <address>', 'the only address that its payments may go to; may be repeated', collect)
    .option(
      '--max-fees-per-day <units>',
      "the fees that it may cause in 24 hours, in the network's smallest unit",
    )
    .option('--max-payments-per-minute <number>', 'its settlements a minute')
    .action(
      run<KeyOptions, [title: string]>(async (context) => {
        const [title] = context.words
        const wanted = parseClientKey(title, context.options)
        const key = await (await openShop(context)).createKey(wanted)
        context.output.result(
          key,
          (colors) =>
            facts(colors, [
              ['X-Client-ID', key.clientId],
              ['X-Client-Token', key.token],
              ['', 'Keep the token now: it is not shown again.'],
            ]),
          `The key was created, and its token is lost: \`tollgate shop keys delete ${key.clientId}\` deletes it.`,
        )
      }),
    )

/** Of EVM, or bech32 as on Cosmos. */
const ADDRESS = /^(0x[0-9a-fA-F]{40}|[a-z][a-z0-9]*1[02-9ac-hj-np-z]{38,})$/

/** @throws UsageError */
export function parseClientKey(title: string, options: KeyOptions): NewClientKey {
  const { scope, ttlHours, payTo, maxFeesPerDay, maxPaymentsPerMinute } = options
  if (ttlHours !== undefined && !(Number(ttlHours) > 0))
    throw new UsageError('--ttl-hours is a number above 0')
  if (maxFeesPerDay !== undefined && !/^[0-9]{1,78}$/.test(maxFeesPerDay))
    throw new UsageError('--max-fees-per-day is a whole number of smallest units, such as wei')
  const wrong = payTo?.find((address) => !ADDRESS.test(address))
  if (wrong !== undefined) throw new UsageError(`--pay-to: ${wrong} is not an address`)
  return {
    title,
    ...(scope === undefined ? {} : { scope }),
    ...(ttlHours === undefined ? {} : { ttl_hours: Number(ttlHours) }),
    ...(payTo ? { pay_to: payTo } : {}),
    ...(maxFeesPerDay === undefined ? {} : { max_fees_per_day: maxFeesPerDay }),
    ...(maxPaymentsPerMinute === undefined
      ? {}
      : { max_payments_per_minute: parseCount('--max-payments-per-minute', maxPaymentsPerMinute) }),
  }
}

const deleteKeyCommand = (run: Run) =>
  describe(
    'delete',
    'Revoke a client key, which stops working at once. Wait for its pending payments before',
    'tollgate shop keys delete client_5f0c9a4e1b7d2f3a6c8e9b01',
  )
    .argument('<id>', 'of `tollgate shop keys list`')
    .action(
      run<ShopOptions, [id: string]>(async (context) => {
        const [id] = context.words
        await (await openShop(context)).deleteKey(id)
        context.output.result({ deleted: id }, () => `Revoked ${id}.`)
      }),
    )

const PERIODS = ['day', 'month', 'all'] as const

type RangeOptions = ShopOptions & { by: (typeof PERIODS)[number]; from?: string; to?: string }

const withRange = (command: Command): Command =>
  command
    .addOption(new Option('--by <period>', 'how much one row sums up').choices(PERIODS).default('day'))
    .option('--from <day>', 'the first day, as 2026-11-21, in UTC')
    .option('--to <day>', 'the last day')

const settlementsCommand = (run: Run) =>
  withRange(
    describe(
      'settlements',
      'What your client keys settled, by day: payments, amounts, fees, and why others failed',
      'tollgate shop settlements --by month --json',
    ),
  ).action(
    run<RangeOptions>(async (context) => {
      const periods = await (await openShop(context)).settlements(rangeOf(context.options))
      context.output.result(periods, (colors) =>
        table(colors, SETTLEMENT_HEAD, periods.map(settlementRow), 'No settlements.'),
      )
    }),
  )

const SETTLEMENT_HEAD = ['Period', 'Settled', 'Failed', 'Reversed', 'Amounts', 'Network fees', 'Failures']

const settlementRow = ({ day, month, settled, failed, reversed, amounts, fees, failures }: Settlements) => [
  day ?? month ?? 'all',
  settled,
  failed,
  reversed,
  amounts.map((one) => `${formatAmount(one.amount, one.decimals)} ${one.symbol} (${one.network})`).join(', '),
  fees.map(({ amount, network }) => `${amount} smallest native units (${network})`).join(', '),
  failures.map(({ reason, failed: times }) => `${reason} ${times}`).join(', '),
]

const metricsCommand = (run: Run) =>
  withRange(
    describe(
      'metrics',
      'The requests of your access tokens and client keys, by day',
      'tollgate shop metrics --from 2026-11-01 --to 2026-11-21',
    ),
  ).action(
    run<RangeOptions>(async (context) => {
      const periods = await (await openShop(context)).requests(rangeOf(context.options))
      context.output.result(periods, (colors) =>
        table(colors, METRICS_HEAD, periods.map(metricsRow), 'No requests.'),
      )
    }),
  )

const METRICS_HEAD = ['Period', 'Requests', 'p50 ms', 'p99 ms', 'Routes', 'Statuses']

const metricsRow = ({ day, month, requests, latency_ms, routes, statuses }: Requests) => [
  day ?? month ?? 'all',
  requests,
  latency_ms?.p50,
  latency_ms?.p99,
  routes.map(({ method, route, requests: times }) => `${method} ${route} ${times}`).join(', '),
  statuses.map(({ status, requests: times }) => `${status}: ${times}`).join(', '),
]

/** @throws UsageError */
function rangeOf({ by, from, to }: RangeOptions): Range {
  for (const [option, day] of [
    ['--from', from],
    ['--to', to],
  ])
    if (day !== undefined && !/^\d{4}-\d\d-\d\d$/.test(day))
      throw new UsageError(`${option} is a day, as 2026-11-21`)
  return { by, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}
