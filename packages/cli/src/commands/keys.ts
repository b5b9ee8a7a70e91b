import { type NewAccessKey } from '@tollgate/wallet'
import { type Command } from 'commander'
import { UsageError } from '../exit-codes'
import { facts, table, time } from '../output/table'
import { type Run } from '../run-command'
import { collect, describe } from './help'

export const keysCommand = (run: Run): Command =>
  describe(
    'keys',
    'Access keys: URLs that spend the credits of the wallet, for clients that cannot sign in',
    'tollgate keys list',
  )
    .addCommand(listCommand(run))
    .addCommand(createCommand(run))
    .addCommand(deleteCommand(run))

const listCommand = (run: Run) =>
  describe('list', 'List the access keys of the wallet', 'tollgate keys list --json').action(
    run(async ({ open, output }) => {
      const { tollgate } = await open()
      const keys = await tollgate.keys.list()
      output.result(keys, (colors) =>
        table(
          colors,
          ['Id', 'Label', 'Plan', 'Credits spent', 'Today', 'At most', 'A day', 'Chains', 'Expires (UTC)'],
          keys.map((key) => [
            ...[key.id, key.label, key.pricing_plan_id, key.spent_credits, key.spent_credits_today],
            ...[
              key.max_credits,
              key.max_credits_per_day,
              key.chains.join(', ') || 'all',
              time(key.expires_at),
            ],
          ]),
          'No access keys.',
        ),
      )
    }),
  )

type CreateOptions = {
  maxCredits?: string
  maxCreditsPerDay?: string
  expires?: string
  chain?: string[]
  method?: string[]
  origin?: string[]
}

const createCommand = (run: Run) =>
  describe(
    'create',
    'Create an access key. Its URL is a secret, and shown once',
    'tollgate keys create "block explorer" --max-credits-per-day 50 --chain base-sepolia',
  )
    .argument('<label>', 'a name for it, which the history shows')
    .option('--max-credits <number>', 'the credits that it may spend in all')
    .option('--max-credits-per-day <number>', 'the credits that it may spend on a day, in UTC')
    .option('--expires <time>', 'its end, as 2027-01-31 or 2027-01-31T12:00:00Z')
    .option('--chain <chain>', 'what it may call; all, if left out; may be repeated', collect)
    .option('--method <method>', 'the methods that it may call; all, if left out; may be repeated', collect)
    .option(
      '--origin <origin>',
      'the web pages that may use it; every client, if left out; may be repeated',
      collect,
    )
    .action(
      run<CreateOptions, [label: string]>(async ({ options, open, output, words: [label] }) => {
        const wanted = parseKey(label, options)
        const { tollgate } = await open()
        const key = await tollgate.keys.create(wanted)
        output.result(
          key,
          (colors) =>
            facts(colors, [
              ['Id', key.id],
              ...urlFacts(key.url, options.chain),
              ['', 'It spends your credits, so keep it secret. It is not shown again.'],
            ]),
          `The key was created, and its URL is lost: \`tollgate keys delete ${key.id}\` deletes it.`,
        )
      }),
    )

/** The URL for the one chain that the key may call; for several, it keeps `{chain}` and says what to put there. */
export const urlFacts = (url: string, chains: readonly string[] = []): [string, string][] => {
  const [chain, ...others] = chains
  return chain !== undefined && others.length === 0
    ? [['URL', url.replace('{chain}', chain)]]
    : [
        ['URL', url],
        ['', `Put a chain in place of {chain}, such as ${chain ?? 'base-sepolia'}.`],
      ]
}

/** @throws UsageError */
export function parseKey(label: string, options: CreateOptions): NewAccessKey {
  const { maxCredits, maxCreditsPerDay, expires, chain, method, origin } = options
  return {
    label,
    ...(maxCredits === undefined ? {} : { max_credits: parseCount('--max-credits', maxCredits) }),
    ...(maxCreditsPerDay === undefined
      ? {}
      : { max_credits_per_day: parseCount('--max-credits-per-day', maxCreditsPerDay) }),
    ...(expires === undefined ? {} : { expires_at: parseTime('--expires', expires) }),
    ...(chain ? { chains: chain } : {}),
    ...(method ? { methods: method } : {}),
    ...(origin ? { origins: origin } : {}),
  }
}

/** @throws UsageError */
export function parseCount(option: string, text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`${option} is a whole number from 1`)
}

function parseTime(option: string, text: string): string {
  const time = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new UsageError(`${option} is a time, as 2027-01-31 or 2027-01-31T12:00:00Z`)
  return new Date(time).toISOString()
}

const deleteCommand = (run: Run) =>
  describe(
    'delete',
    'Delete an access key, which stops working at once',
    'tollgate keys delete 5b7d9a52-6f0e-4c55-9a55-0d6c7f1c2b3a',
  )
    .argument('<id>', 'of `tollgate keys list`')
    .action(
      run<unknown, [id: string]>(async ({ open, output, words: [id] }) => {
        const { tollgate } = await open()
        await tollgate.keys.delete(id)
        output.result({ deleted: id }, () => `Deleted ${id}.`)
      }),
    )
