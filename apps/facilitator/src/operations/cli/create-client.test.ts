import { spawn } from 'node:child_process'
import {
  cpSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { openFacilitatorDatabase } from '@tollgate/database'
import { closeAll, closeLater } from '@tollgate/testing'
import { createClientStore } from '../../clients/store'
import { type KubernetesApi, startKubernetesApi } from '../../testing/kubernetes-api'
import { newOperator, type Operator } from '../../testing/operator'
import { untilBlocked } from '../../testing/row-locks'

const OWNER = 'gateway@localhost'
const ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7'
const KEY = { FACILITATOR_CLIENT_ID: 'client_given', FACILITATOR_CLIENT_TOKEN: 't'.repeat(43) }

let here: Operator
let api: KubernetesApi
let folder: string
let clients: ReturnType<typeof createClientStore>
beforeAll(async () => {
  here = await newOperator()
  api = await startKubernetesApi({ allowed: 'gateway-client-key' })
  folder = mkdtempSync(join(tmpdir(), 'tollgate-client-key-'))
  closeLater(() => rmSync(folder, { recursive: true }))
  const database = openFacilitatorDatabase({ url: here.DATABASE_URL, poolSize: 1 })
  closeLater(database.close)
  clients = createClientStore(database)
})
beforeEach(async () => {
  api.set({})
  api.onPatch({})
  api.allowCreation(true)
  await here.pool.query('DELETE FROM reserved_recipients')
  await here.pool.query('DELETE FROM clients WHERE client_id <> $1', [here.clientId])
  await here.pool.query("DELETE FROM users WHERE email <> 'shop@example.com'")
})
afterAll(closeAll)

const options = () => ['--owner', OWNER, '--secret', 'gateway-client-key', '--service-account', api.folder]
const create = (...more: string[]) =>
  here.facilitator(['clients', 'create', ...options(), ...more], {
    DATABASE_URL: here.DATABASE_URL,
    ...api.variables,
  })

const storedKeys = async () => {
  const { rows } = await here.pool.query<{ id: string; email: string; scope: string[]; title: string }>(
    `SELECT client_id AS id, email, scope, title FROM clients c JOIN users u ON u.id = c.user_id
     WHERE client_id <> $1 ORDER BY c.created_at, c.client_id`,
    [here.clientId],
  )
  return rows
}

/** No other session writes to `table` before `work` is done. */
async function whileLocked<T>(table: 'users' | 'clients', work: () => Promise<T>): Promise<T> {
  const other = await here.pool.connect()
  try {
    await other.query('BEGIN')
    await other.query(`LOCK TABLE ${table} IN EXCLUSIVE MODE`)
    return await work()
  } finally {
    other.release(true)
  }
}

/** The key of the Secret, which the facilitator accepts. */
async function acceptedKey() {
  const { FACILITATOR_CLIENT_ID: id = '', FACILITATOR_CLIENT_TOKEN: token = '' } = api.data()
  expect(await clients.authenticate(id, token, new Date())).toMatchObject({ clientId: id })
  return { id, token }
}

describe('facilitator clients create --secret', () => {
  test('makes a key of a user without a login, stores it in the Secret, and prints no token', async () => {
    const { code, out, err } = await create('--title', 'my gateway', '--scope', 'settle, verify')
    const { id, token } = await acceptedKey()
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(`Secret tollgate/gateway-client-key: has the new client key ${id}`)
    expect(out).not.toContain(token)
    expect(await storedKeys()).toEqual([
      { id, email: OWNER, scope: ['verify', 'settle'], title: 'my gateway' },
    ])
  })

  test('changes nothing when repeated', async () => {
    await create()
    const first = await acceptedKey()
    expect(await create()).toMatchObject({ code: 0, err: '' })
    expect(await acceptedKey()).toEqual(first)
    expect(api.patches).toHaveLength(1)
    expect(await storedKeys()).toHaveLength(1)
  })

  test('registers the key that the Secret has', async () => {
    api.set(KEY)
    expect(await create()).toMatchObject({ code: 0, err: '' })
    expect(await acceptedKey()).toEqual({ id: 'client_given', token: KEY.FACILITATOR_CLIENT_TOKEN })
    expect(api.patches).toEqual([])
  })

  test('two at once end with one key', async () => {
    let waiting = 0
    let release = () => {}
    const both = new Promise<void>((resolve) => (release = resolve))
    // Neither is answered before both have read the Secret without a key.
    api.onPatch({ before: () => (++waiting >= 2 && release(), both) })
    const [one, two] = await Promise.all([create(), create()])
    expect([one, two]).toMatchObject([
      { code: 0, err: '' },
      { code: 0, err: '' },
    ])
    expect(api.patches).toHaveLength(1)
    const { id } = await acceptedKey()
    expect((await storedKeys()).map((key) => key.id)).toEqual([id])
  })

  test('two at once register one key of a new owner', async () => {
    api.set(KEY)
    const both = await whileLocked('users', async () => {
      const runs = Promise.all([create(), create()])
      await untilBlocked(here.pool, 2)
      return { runs }
    })
    expect(await both.runs).toMatchObject([
      { code: 0, err: '' },
      { code: 0, err: '' },
    ])
    expect(await storedKeys()).toMatchObject([{ id: 'client_given', email: OWNER }])
  })

  test('reserves the recipients of the catalog and of --recipient for the owner of the key', async () => {
    const catalog = join(folder, 'catalog.yaml')
    const plan = (network: string) => `{ network: ${network}, pay_to: ${ADDRESS.toLowerCase()}, id: 1 }`
    writeFileSync(catalog, `plans: [${plan('base')}, ${plan('base')}]\nproviders: []\n`)
    const { code, out, err } = await create('--catalog', catalog, '--recipient', `new-chain=${ADDRESS}`)
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('new-chain: no facilitator has served it yet')
    const { rows } = await here.pool.query<{ network: string }>(
      `SELECT network, address, proof, email FROM reserved_recipients r JOIN users u ON u.id = r.user_id ORDER BY network`,
    )
    const common = { address: ADDRESS, proof: 'operator', email: OWNER }
    expect(rows).toEqual([
      { network: 'base', ...common },
      { network: 'new-chain', ...common },
    ])
    expect(await create('--catalog', catalog)).toMatchObject({ code: 0 })
  })

  test('exits with 1 if another user has reserved a recipient; the key works', async () => {
    const recipient = `base=${ADDRESS}`
    await here.facilitator(['recipients', 'reserve', 'shop@example.com', 'base', ADDRESS])
    const { code, err } = await create('--recipient', recipient, '--recipient', `base-sepolia=${ADDRESS}`)
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(`${ADDRESS} is not reserved on base: another user`),
    ])
    await acceptedKey()
    const listed = await here.facilitator(['recipients', 'list', '--json'])
    expect(JSON.parse(listed.out)).toMatchObject({
      recipients: [{ network: 'base-sepolia' }, { network: 'base' }],
    })
  })

  test('sets the fee shares of a new key and user, and none that an operator has set', async () => {
    await create('--fee-share', '90')
    const shares = async () => {
      const { rows } = await here.pool.query<{ key: number; user: number }>(
        `SELECT c.fee_share_bps AS key, u.fee_share_bps AS user FROM clients c JOIN users u ON u.id = c.user_id
         WHERE u.email = $1`,
        [OWNER],
      )
      return rows
    }
    expect(await shares()).toEqual([{ key: 9000, user: 9000 }])
    await here.facilitator(['users', 'allow', OWNER, '40'])
    await create('--fee-share', '80')
    expect(await shares()).toEqual([{ key: 9000, user: 4000 }])
  })

  test('--rotate makes a new key of the same user beside the old one, which clients delete ends', async () => {
    const userId = await here.rows.user('operator@example.com')
    api.set(KEY)
    await here.pool.query(
      `INSERT INTO clients (client_id, user_id, token_hash, title) VALUES ('client_given', $1, sha256($2::bytea), 'old')`,
      [userId, KEY.FACILITATOR_CLIENT_TOKEN],
    )
    const { code, out } = await create('--rotate')
    const { id } = await acceptedKey()
    expect([code, id]).not.toEqual([0, 'client_given'])
    expect(out).toContain('client_given: replaced, and still valid')
    expect(await storedKeys()).toMatchObject([
      { id: 'client_given', email: 'operator@example.com' },
      { id, email: 'operator@example.com' },
    ])
    const old = () => clients.authenticate('client_given', KEY.FACILITATOR_CLIENT_TOKEN, new Date())
    expect(await old()).toMatchObject({ clientId: 'client_given' })
    expect(await here.facilitator(['clients', 'delete', 'client_given'])).toMatchObject({ code: 0 })
    expect(await old()).toBeUndefined()
    expect(await here.facilitator(['clients', 'delete', 'client_given'])).toMatchObject({ code: 1 })
  })

  test('--rotate registers the new key, with the share of the old one, before the Secret names it', async () => {
    await create()
    const old = await acceptedKey()
    await here.facilitator(['clients', 'allow', old.id, '70'])
    const registered: unknown[] = []
    api.onPatch({
      before: async () => {
        const { rows } = await here.pool.query<{ share: number }>(
          'SELECT fee_share_bps AS share FROM clients WHERE client_id NOT IN ($1, $2)',
          [here.clientId, old.id],
        )
        registered.push(...rows)
      },
    })
    expect(await create('--rotate')).toMatchObject({ code: 0, err: '' })
    expect(registered).toEqual([{ share: 7000 }])
  })

  test('--rotate leaves no key behind that another rotation made useless', async () => {
    await create()
    api.onPatch({ before: () => api.set(KEY) })
    expect(await create('--rotate')).toMatchObject({ code: 0, err: '' })
    const { rows } = await here.pool.query(
      'SELECT client_id AS id FROM clients WHERE deleted_at IS NULL AND client_id <> $1 AND client_id <> ALL($2)',
      [here.clientId, [KEY.FACILITATOR_CLIENT_ID]],
    )
    // The one that was to be replaced: the other rotation says that it is.
    expect(rows).toHaveLength(1)
  })

  test.each([
    [
      'has another token',
      "UPDATE clients SET token_hash = sha256('other')",
      'the facilitator has another token for it',
    ],
    ['is deleted', 'UPDATE clients SET deleted_at = now()', 'it is deleted'],
    ['has expired', 'UPDATE clients SET expires_at = now()', 'it has expired'],
    ['is of a disabled user', 'UPDATE users SET disabled_at = now()', `its user ${OWNER} is disabled`],
  ])('exits with 1 if the key %s', async (_, change, reason) => {
    await create()
    await here.pool.query(`${change} WHERE ${change.includes('users') ? 'email' : 'title'} = $1`, [
      change.includes('users') ? OWNER : 'gateway',
    ])
    const { code, err } = await create()
    expect([code, err]).toEqual([1, expect.stringContaining(`cannot be used: ${reason}`)])
  })

  test.each([
    ['it has half a key', { FACILITATOR_CLIENT_ID: 'client_x' }, 'has only one of FACILITATOR_CLIENT_ID'],
    ['its token is short', { ...KEY, FACILITATOR_CLIENT_TOKEN: 'short' }, 'has an invalid key'],
  ])('exits with 1 and registers nothing if %s', async (_, data, reason) => {
    api.set(data)
    const { code, out, err } = await create()
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(reason)])
    expect(await storedKeys()).toEqual([])
  })

  test('creates the Secret if there is none, and keeps its key when repeated', async () => {
    api.set(undefined)
    expect(await create()).toMatchObject({ code: 0, err: '' })
    const { id } = await acceptedKey()
    expect(await create()).toMatchObject({ code: 0, err: '' })
    expect([(await acceptedKey()).id, api.patches]).toEqual([id, ['gateway-client-key']])
  })

  test('keeps the key of a Secret that another one creates at the same time', async () => {
    api.set(undefined)
    api.onPatch({ before: () => api.data()['FACILITATOR_CLIENT_ID'] ?? api.set(KEY) })
    expect(await create()).toMatchObject({ code: 0, err: '' })
    expect(api.data()).toEqual(KEY)
    expect((await storedKeys()).map(({ id }) => id)).toEqual([KEY.FACILITATOR_CLIENT_ID])
  })

  test('exits with 1 and registers nothing if there is no Secret and the service account may create none', async () => {
    api.set(undefined)
    api.allowCreation(false)
    const { code, err } = await create()
    expect([code, err]).toEqual([1, expect.stringContaining('answered 403: secrets is forbidden')])
    expect(await storedKeys()).toEqual([])
  })

  test('exits with 1 if the service account may not read the Secret, and says so', async () => {
    const { code, err } = await create('--secret', 'tollgate/other')
    expect([code, err]).toEqual([1, expect.stringContaining('answered 403: secrets "other" is forbidden')])
  })

  test('exits with 1 and sends nothing to an API server that the authority of the cluster did not sign', async () => {
    const serviceAccount = join(folder, 'other-authority')
    cpSync(api.folder, serviceAccount, { recursive: true })
    writeFileSync(join(serviceAccount, 'ca.crt'), rootCertificates[0] ?? '')
    const before = api.requestCount()
    const { code, err } = await create('--service-account', serviceAccount)
    expect([code, err]).toEqual([1, expect.stringMatching(/did not answer:.* self-signed certificate/)])
    expect(api.requestCount()).toBe(before)
    expect(await storedKeys()).toEqual([])
  })

  test('exits with 78 outside of a cluster, and without the token of a service account', async () => {
    const variables = { DATABASE_URL: here.DATABASE_URL }
    const run = (environment: NodeJS.ProcessEnv, ...more: string[]) =>
      here.facilitator(['clients', 'create', ...options(), ...more], environment)
    expect(await run(variables)).toMatchObject({ code: 78 })
    expect(await run({ ...variables, ...api.variables }, '--service-account', folder)).toMatchObject({
      code: 78,
    })
  })
})

describe('facilitator clients create, killed', () => {
  const program = join(__dirname, '../../../bin/facilitator.js')

  /** Starts the command, and kills it once `reached` resolves. */
  async function killAt(reached: Promise<unknown>) {
    const child = spawn(process.execPath, [program, 'clients', 'create', ...options()], {
      env: { PATH: process.env['PATH'], DATABASE_URL: here.DATABASE_URL, ...api.variables },
    })
    const ended = new Promise((resolve) => child.on('close', (_code, signal) => resolve(signal)))
    await reached
    child.kill('SIGKILL')
    expect(await ended).toBe('SIGKILL')
  }

  const oneKeyWorks = async () => {
    expect(await create()).toMatchObject({ code: 0, err: '' })
    const { id } = await acceptedKey()
    expect((await storedKeys()).map((key) => key.id)).toEqual([id])
  }

  test.each(['before', 'after'] as const)(
    '%s the Secret is written: the next run ends with one key',
    async (when) => {
      // The request is held until the process is dead.
      let release = () => {}
      const held = new Promise<void>((resolve) => (release = resolve))
      await killAt(new Promise<void>((resolve) => api.onPatch({ [when]: () => (resolve(), held) })))
      api.onPatch({})
      release()
      await oneKeyWorks()
    },
  )

  test('between the Secret and the database: the next run registers the key of the Secret', async () => {
    await whileLocked('clients', async () => {
      const written = new Promise<void>((resolve) => api.onPatch({ after: resolve }))
      await killAt(written.then(() => untilBlocked(here.pool)))
    })
    const { FACILITATOR_CLIENT_ID: id } = api.data()
    expect(id).toMatch(/^client_/)
    await oneKeyWorks()
    expect(api.data()['FACILITATOR_CLIENT_ID']).toBe(id)
  })
})

describe('facilitator clients create --dotenv', () => {
  const inFile = (path: string, ...more: string[]) =>
    here.facilitator(['clients', 'create', '--owner', OWNER, '--dotenv', path, ...more])

  test('creates a file that only its owner reads, and changes nothing when repeated', async () => {
    const path = join(folder, 'new.env')
    expect(await inFile(path)).toMatchObject({ code: 0, err: '' })
    const text = readFileSync(path, 'utf8')
    const [, id = '', token = ''] =
      /^FACILITATOR_CLIENT_ID=(client_\w+)\nFACILITATOR_CLIENT_TOKEN=(.{43})\n$/.exec(text) ?? []
    expect(await clients.authenticate(id, token, new Date())).toMatchObject({ clientId: id })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(await inFile(path)).toMatchObject({ code: 0, err: '' })
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('replaces empty lines, and leaves the others and the mode', async () => {
    const path = join(folder, 'filled.env')
    writeFileSync(path, '# secrets\nA=1\nFACILITATOR_CLIENT_ID=\nFACILITATOR_CLIENT_TOKEN=\nB=$x', {
      mode: 0o640,
    })
    expect(await inFile(path)).toMatchObject({ code: 0, err: '' })
    expect(readFileSync(path, 'utf8')).toMatch(
      /^# secrets\nA=1\nFACILITATOR_CLIENT_ID=client_\w+\nFACILITATOR_CLIENT_TOKEN=.{43}\nB=\$x$/,
    )
    expect(statSync(path).mode & 0o777).toBe(0o640)
    expect(readdirSync(folder).filter((name) => name.endsWith('.new'))).toEqual([])
  })

  test('replaces the file that a link points to, and not the link', async () => {
    const [file, link] = [join(folder, 'linked.env'), join(folder, 'link.env')]
    writeFileSync(file, 'A=1\n')
    symlinkSync(file, link)
    expect(await inFile(link)).toMatchObject({ code: 0, err: '' })
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(file, 'utf8')).toMatch(/^A=1\nFACILITATOR_CLIENT_ID=client_/)
  })

  test('exits with 1 while another run writes the file', async () => {
    const path = join(folder, 'busy.env')
    writeFileSync(`${path}.new`, '')
    const { code, err } = await inFile(path)
    expect([code, err]).toEqual([1, expect.stringContaining('busy.env.new exists')])
    expect(await storedKeys()).toEqual([])
  })

  test('exits with 1 if the file cannot be written', async () => {
    const { code, err } = await inFile(join(folder, 'missing/x.env'))
    expect([code, err]).toEqual([1, expect.stringContaining('cannot be read and replaced: ENOENT')])
  })
})

test.each([
  [['--secret', 'x'], 'needs --owner EMAIL'],
  [['--owner', 'gateway', '--secret', 'x'], 'needs --owner EMAIL'],
  [['--owner', OWNER], 'needs one of --secret and --dotenv'],
  [['--owner', OWNER, '--secret', 'x', '--dotenv', 'y'], 'needs one of --secret and --dotenv'],
  [['--owner', OWNER, '--secret', 'a/b/c'], '--secret needs NAME or NAMESPACE/NAME'],
  [['--owner', OWNER, '--secret', '../x'], '--secret needs NAME or NAMESPACE/NAME'],
  [['--owner', OWNER, '--secret', 'x', '--scope', 'verify,admin'], '--scope needs a list of verify, settle'],
  [['--owner', OWNER, '--secret', 'x', '--title', ' '], '--title needs a line of text'],
  [['--owner', OWNER, '--secret', 'x', '--fee-share', '101'], '"101" is not a percentage'],
  [['--owner', OWNER, '--secret', 'x', '--recipient', 'base'], '--recipient needs NETWORK=ADDRESS'],
  [['--owner', OWNER, '--secret', 'x', '--recipient', 'base=0x1'], '"0x1" is not an address'],
  [['--owner', OWNER, '--secret', 'x', '--catalog', '/missing'], '--catalog /missing cannot be read'],
  [['--owner', OWNER, '--secret', 'x', 'gateway'], 'takes options only'],
])('exits with 2, the reason and the help: %j', async (args, reason) => {
  const { code, out, err } = await here.facilitator(['clients', 'create', ...args])
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(reason)
  expect(err).toContain('--service-account')
})
