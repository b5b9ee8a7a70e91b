import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { migrate, openFacilitatorDatabase } from '@tollgate/database'
import { startPostgres } from '@tollgate/devnet'
import { root } from '../deploy/kustomize'
import { CREATION } from '../deploy/chart'
import { withRecipients } from '../deploy/recipients'
import { type Cluster } from './cluster'

const SECRET = 'gateway-client-key'
const NAMESPACE = 'tollgate'
const PATIENCE_MS = 60_000

type Key = { id: string; token: string }
type Ended = { code: number | null; signal: NodeJS.Signals | null; err: string }

/** Runs the Job's command as its service account. The base must be applied. Returns what went wrong. */
export async function checkClientKey(
  { kubectl, port, ca }: Cluster,
  folder: string,
  say: (text: string) => void,
): Promise<string[]> {
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), durable: false })
  const url = await postgres.createDatabase('facilitator')
  await migrate({ url, service: 'facilitator' })
  const { pool, close } = openFacilitatorDatabase({ url, poolSize: 3 })
  const problems: string[] = []

  const account = join(folder, 'service-account')
  mkdirSync(account)
  const token = await kubectl.expect('create', 'token', SECRET, '--namespace', NAMESPACE)
  const files = { token, 'ca.crt': readFileSync(ca), namespace: NAMESPACE }
  for (const [file, content] of Object.entries(files)) writeFileSync(join(account, file), content)
  const catalog = join(folder, 'catalog.yaml')
  const text = readFileSync(join(root, 'k8s/networks/catalog.yaml'), 'utf8')
  writeFileSync(catalog, withRecipients(text))

  const job = (secret = SECRET) => {
    const command = [...['clients', 'create', '--secret', secret, '--owner', 'gateway@localhost']]
    const options = ['--fee-share', '90', '--catalog', catalog, '--service-account', account]
    const program = join(root, 'apps/facilitator/bin/facilitator.js')
    const child = spawn(process.execPath, [program, ...command, ...options], {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: url,
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT_HTTPS: String(port),
      },
    })
    let err = ''
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
    const ended = new Promise<Ended>((resolve) =>
      child.on('close', (code, signal) => resolve({ code, signal, err })),
    )
    return { ended, kill: () => child.kill('SIGKILL') }
  }

  async function stored(): Promise<Key | undefined> {
    const { data } = JSON.parse(
      await kubectl.expect('get', 'secret', SECRET, '--namespace', NAMESPACE, '--output', 'json'),
    ) as { data?: Record<string, string> }
    const [id, token] = ['FACILITATOR_CLIENT_ID', 'FACILITATOR_CLIENT_TOKEN'].map((name) =>
      Buffer.from(data?.[name] ?? '', 'base64').toString(),
    )
    return id && token ? { id, token } : undefined
  }

  async function startAnew() {
    await kubectl.expect('patch', 'secret', SECRET, '--namespace', NAMESPACE, '--type=json', '--patch', CLEAR)
    await pool.query('TRUNCATE users CASCADE')
  }

  /** That one key is in the Secret, which is the only one in the database. */
  async function oneKey(after: string, results: Ended[]) {
    const failed = results.filter(({ code }) => code !== 0)
    const key = await stored()
    const { rows } = await pool.query<{ isKey: boolean; recipients: number }>(
      `SELECT client_id = $1 AND token_hash = sha256($2::bytea) AS "isKey",
         (SELECT count(*)::int FROM reserved_recipients r WHERE r.user_id = c.user_id) AS recipients FROM clients c`,
      [key?.id ?? '', key?.token ?? ''],
    )
    const [row] = rows
    const isRight = failed.length === 0 && rows.length === 1 && row?.isKey && row.recipients === 9
    say(`${isRight ? 'ok' : 'FAILED'}: ${after}: one key, nine recipients`)
    if (!isRight) problems.push(`${after}: ${JSON.stringify({ failed, rows })}`)
    return key
  }

  const first = await oneKey('first run', [await job().ended])
  const again = await oneKey('second run', [await job().ended])
  if (first?.token !== again?.token) problems.push('the second run changed the key')

  await startAnew()
  await oneKey('two runs at once', await Promise.all([job().ended, job().ended]))

  await startAnew()
  const locked = await pool.connect()
  await locked.query('BEGIN')
  await locked.query('LOCK TABLE clients IN EXCLUSIVE MODE')
  const killed = job()
  const deadline = performance.now() + PATIENCE_MS
  while (!(await stored()) && performance.now() < deadline) await delay(100)
  const between = await stored()
  killed.kill()
  const { signal } = await killed.ended
  locked.release(true)
  const { rowCount } = await pool.query('SELECT FROM clients')
  if (signal !== 'SIGKILL' || !between || rowCount !== 0) problems.push('the run was not killed in between')
  const resumed = await oneKey('a run killed between the Secret and the database, and the next', [
    await job().ended,
  ])
  if (resumed?.token !== between?.token) problems.push('the run after a crash made another key')

  await kubectl.expect('create', 'secret', 'generic', 'other', '--namespace', NAMESPACE)
  for (const secret of ['other', 'kube-system/other']) {
    const { code, err } = await job(secret).ended
    const isRefused = code === 1 && err.includes('answered 403')
    say(`${isRefused ? 'ok' : 'FAILED'}: the service account is refused Secret ${secret}`)
    if (!isRefused) problems.push(`Secret ${secret} was not refused: ${err}`)
  }
  const rights = (...words: string[]) =>
    kubectl.run(
      'auth',
      'can-i',
      ...words,
      '--namespace',
      NAMESPACE,
      '--as',
      `system:serviceaccount:${NAMESPACE}:${SECRET}`,
    )
  for (const words of [
    ['list', 'secrets'],
    ['create', 'secrets'],
    ['delete', `secrets/${SECRET}`],
    ['get', 'configmaps'],
  ]) {
    const { out } = await rights(...words)
    const isRefused = out.trim() === 'no'
    say(`${isRefused ? 'ok' : 'FAILED'}: the service account may not ${words.join(' ')}`)
    if (!isRefused) problems.push(`the service account may ${words.join(' ')}`)
  }

  // With the rights of the chart, whose Job creates the Secret.
  const [verb, resource] = [CREATION.verbs, CREATION.resources ?? []].map((words) => words.join())
  const named = ['creation', '--namespace', NAMESPACE]
  await kubectl.expect('create', 'role', ...named, `--verb=${verb}`, `--resource=${resource}`)
  const subject = `--serviceaccount=${NAMESPACE}:${SECRET}`
  await kubectl.expect('create', 'rolebinding', ...named, '--role=creation', subject)
  await kubectl.expect('delete', 'secret', SECRET, '--namespace', NAMESPACE)
  await pool.query('TRUNCATE users CASCADE')
  const made = await oneKey(
    'two runs at once without a Secret',
    await Promise.all([job().ended, job().ended]),
  )
  const kept = await oneKey('the next run', [await job().ended])
  if (made?.token !== kept?.token) problems.push('the run after the creation changed the key')
  for (const kind of ['role', 'rolebinding']) await kubectl.expect('delete', kind, ...named)

  await close()
  await postgres.stop()
  return problems
}

const CLEAR = JSON.stringify([{ op: 'remove', path: '/data' }])
