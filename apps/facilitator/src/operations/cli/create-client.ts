import { randomBytes } from 'node:crypto'
import { families } from '@tollgate/chains'
import { operations, type Operation } from '@tollgate/protocol'
import { type CommandIo, parseOptions, UsageError } from '@tollgate/service'
import { canonicalAddress } from '../../networks/canonical-address'
import { createPasswords } from '../../users/passwords'
import { recipientsIn } from '../client-keys/catalog-recipients'
import { envFile } from '../client-keys/env-file'
import { findOrMakeKey, KeyPlaceError, type ClientKey, type KeyPlace } from '../client-keys/key-place'
import { kubernetesSecret } from '../client-keys/kubernetes-secret'
import { assertCount, parseShare, type Work } from './arguments'
import { inOneLine } from './format'

type Recipient = { network: string; address: string }

export function createClient(args: string[]): Work {
  const { values, positionals } = parseOptions(args, {
    owner: { type: 'string' },
    secret: { type: 'string' },
    dotenv: { type: 'string' },
    title: { type: 'string' },
    scope: { type: 'string' },
    'fee-share': { type: 'string' },
    catalog: { type: 'string' },
    recipient: { type: 'string', multiple: true },
    rotate: { type: 'boolean' },
    'service-account': { type: 'string' },
  })
  assertCount(positionals, 0, 'clients create takes options only')
  const place = placeOf(values.secret, values.dotenv, values['service-account'])
  const email = ownerOf(values.owner)
  const title = values.title ?? 'gateway'
  if (!/^(?!\s)[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,128}(?<!\s)$/u.test(title))
    throw new UsageError('--title needs a line of text')
  const scope = scopeOf(values.scope)
  const feeShareBps = values['fee-share'] === undefined ? undefined : parseShare(values['fee-share'])
  const recipients = [
    ...(values.recipient ?? []).map(recipientOf),
    ...(values.catalog === undefined ? [] : recipientsIn(values.catalog)),
  ].map(({ network, address }) => ({ network, address: canonical(address) }))

  return async (stores, io) => {
    const found = place(io)
    // No login: the password is unknown. `users reset-password` sets one.
    const passwordHash = await (await createPasswords()).hash(randomBytes(32).toString('base64url'))
    const owner = { email, passwordHash }
    const register = async (key: ClientKey, replaced?: string) => {
      const registered = await stores.clientKeys.register({ key, owner, replaced, title, scope, feeShareBps })
      if (typeof registered !== 'string') return registered
      throw new KeyPlaceError(`client key ${key.id} cannot be used: ${registered}; --rotate makes a new one`)
    }
    const rotation = { register, discard: stores.clientKeys.remove }
    const { key, isNew, replaced } = await findOrMakeKey(found, values.rotate ? rotation : undefined)
    io.out(`${found.name}: ${isNew ? 'has the new' : 'has the'} client key ${key.id}\n`)
    const registered = await register(key, replaced)
    io.out(`${key.id}: belongs to user ${registered.userId}, ${inOneLine(registered.email)}\n`)
    if (replaced !== undefined)
      io.out(`${replaced}: replaced, and still valid; once nothing uses it: clients delete ${replaced}\n`)
    return reserveAll(registered.userId, recipients, stores, io)
  }
}

async function reserveAll(
  userId: number,
  given: readonly Recipient[],
  { recipients, settlements }: Parameters<Work>[0],
  { out, err }: CommandIo,
): Promise<number> {
  let code = 0
  for (const { network, address } of distinct(given)) {
    const reserved = await recipients.reserve({ userId, network, address, proof: 'operator' })
    if (typeof reserved === 'string') {
      err(`facilitator: ${address} is not reserved on ${network}: ${PROBLEMS[reserved]}\n`)
      code = 1
      continue
    }
    out(`${address}: on ${network} only client keys of user ${userId} settle payments to it\n`)
    // A facilitator adds its networks when it starts for the first time.
    if (!(await settlements.hasNetwork(network))) out(`${network}: no facilitator has served it yet\n`)
  }
  return code
}

const PROBLEMS = {
  taken: 'another user has reserved it',
  'too-many': 'the user has too many',
  'no-account': 'the user has deleted its account',
}

const distinct = (given: readonly Recipient[]): Recipient[] => [
  ...new Map(given.map((recipient) => [`${recipient.network} ${recipient.address}`, recipient])).values(),
]

function placeOf(
  secret: string | undefined,
  file: string | undefined,
  serviceAccount: string | undefined,
): (io: CommandIo) => KeyPlace {
  if ((secret === undefined) === (file === undefined))
    throw new UsageError('clients create needs one of --secret and --dotenv')
  if (file !== undefined) return () => envFile(file)
  const [, namespace, name] = /^(?:([a-z0-9-]{1,63})\/)?([a-z0-9][a-z0-9.-]{0,252})$/.exec(secret ?? '') ?? []
  if (name === undefined) throw new UsageError('--secret needs NAME or NAMESPACE/NAME')
  return ({ environment }) => kubernetesSecret({ namespace, name }, environment, serviceAccount)
}

function ownerOf(owner: string | undefined): string {
  if (owner !== undefined && owner.length <= 254 && /^[^@\s]+@[^@\s]+$/.test(owner))
    return owner.toLowerCase()
  throw new UsageError('clients create needs --owner EMAIL')
}

function scopeOf(text: string | undefined): readonly Operation[] {
  if (text === undefined) return operations
  const words = text.split(',').map((word) => word.trim())
  const known = operations.filter((operation) => words.includes(operation))
  if (known.length === new Set(words).size) return known
  throw new UsageError(`--scope needs a list of ${operations.join(', ')}`)
}

function recipientOf(text: string): Recipient {
  const [, network, address] = /^([a-z0-9][a-z0-9-]{0,63})=(.+)$/.exec(text) ?? []
  if (network !== undefined && address !== undefined) return { network, address }
  throw new UsageError('--recipient needs NETWORK=ADDRESS')
}

function canonical(text: string): string {
  const address = canonicalAddress(families, text)
  if (address !== undefined) return address
  throw new UsageError(`${JSON.stringify(text)} is not an address`)
}
