import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { newPayer, newSigner, ownChain } from './testing/chain'
import { paymentRequest } from './testing/payment'

const AN_HOUR = 3_600

afterAll(closeAll)

type Line = { level: string; message: string; port?: number; problems?: string[] }

function start(variables: Record<string, string>) {
  const program = ['--require', join(__dirname, 'testing/typescript.cjs'), join(__dirname, 'main.ts')]
  const { PATH } = process.env
  const child = spawn(process.execPath, program, {
    env: { PATH, PORT: '0', METRICS_PORT: '0', ...variables },
  })
  closeLater(() => child.kill('SIGKILL'))
  const lines: Line[] = []
  const output = createInterface(child.stdout)
  output.on('line', (line) => lines.push(JSON.parse(line) as Line))
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>

  async function logged(message: string): Promise<Line> {
    for (;;) {
      const found = lines.find((line) => line.message === message)
      if (found) return found
      await Promise.race([
        once(output, 'line'),
        exited.then(() => Promise.reject(new Error(JSON.stringify(lines)))),
      ])
    }
  }
  return { child, lines, logged, exited }
}

async function running(rpcUrl: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-main-'))
  closeLater(() => rmSync(folder, { recursive: true }))
  const NETWORKS_FILE = join(folder, 'networks.yaml')
  const network = {
    name: 'base-sepolia',
    ecosystem: 'evm',
    chain_id: '84532',
    rpc_urls: [rpcUrl],
    signer_keys: 'env:SIGNER_KEYS',
    assets: [{ asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6 }],
  }
  writeFileSync(NETWORKS_FILE, JSON.stringify([network]))
  const service = start({
    NETWORKS_FILE,
    SIGNER_KEYS: (await newSigner(rpcUrl)).privateKey,
    DATABASE_URL: await migratedDatabase('facilitator'),
    JWT_SECRET: 's'.repeat(32),
  })
  const { port = 0 } = await service.logged('serving')
  return { ...service, url: `http://127.0.0.1:${port}` }
}

async function post<T>(url: string, body: object, headers: object = {}): Promise<T> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return (await answer.json()) as T
}

test('a process stops within five seconds, with 0, while a settlement waits for its block', async () => {
  const { rpcUrl } = await ownChain({ blockTime: AN_HOUR })
  const { url, child, logged, exited, lines } = await running(rpcUrl)
  const account = { email: 'shop@example.com', password: 'a long password' }
  const api = `${url}/api/v1`
  await post(`${api}/signup`, account)
  const { data } = await post<{ data: { access_token: string } }>(`${api}/login`, account)
  type Created = { data: { client: { clientId: string; token: string } } }
  const authorization = { authorization: `Bearer ${data.access_token}` }
  const { client } = (await post<Created>(`${api}/clients`, { title: 'Shop' }, authorization)).data
  const headers = { 'x-client-id': client.clientId, 'x-client-token': client.token }

  const settling = post(`${api}/settle`, await paymentRequest(await newPayer(rpcUrl)), headers)
  await logged('settlement signed')
  const stoppedAt = performance.now()
  child.kill('SIGTERM')
  expect(await settling).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  expect(await exited).toEqual([0, null])
  expect(performance.now() - stoppedAt).toBeLessThan(5_000)
  expect(lines.filter(({ level }) => level === 'error')).toEqual([])
})

test('a process with an invalid configuration names every problem and exits with 78', async () => {
  const { exited, lines } = start({ DATABASE_URL: 'nowhere', PORT: '99999' })
  expect((await exited)[0]).toBe(78)
  const problems = lines.flatMap((line) => line.problems ?? []).join('\n')
  for (const name of ['DATABASE_URL', 'PORT', 'NETWORKS_FILE', 'JWT_SECRET']) expect(problems).toContain(name)
  expect(JSON.stringify(lines)).not.toContain('nowhere')
})
