import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expectPaidOnce } from './testing/expect-payment'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { publicPayers } from './testing/public-payers'
import { blockNumberCall, root, signIn } from './testing/world'

let world: ObservedWorld
beforeAll(async () => void (world = await startObservedWorld()), 120_000)
afterAll(() => world.stop(), 30_000)

describe('a wallet without an account, through a public x402 client, pays the gateway and is served', () => {
  test.each(publicPayers)('$name (v$version)', async ({ pay, version }) => {
    const { plan } = world
    const { address, privateKey } = await world.newPayer()
    const headers = { authorization: `Bearer ${await signIn(world, { privateKey })}` }
    const { status, body, receipt } = await pay(`${world.gateway.url}/rpc`, privateKey, {
      json: blockNumberCall,
      headers,
    })
    expect([status, JSON.parse(body)]).toEqual([
      200,
      expect.objectContaining({ id: 7, result: expect.any(String) as string }),
    ])
    const networks = { 1: plan.network, 2: `eip155:${plan.chain_id}` }
    expect(receipt).toMatchObject({ success: true, network: networks[version], payer: address })
    await expectPaidOnce(world, address, { transaction: receipt.transaction })
  })
})

describe('the program of the README', () => {
  const [, program = ''] = /```js\n([^`]*)```/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-readme-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  test('pays in its first run, and spends what it bought in the next', async () => {
    const { address, privateKey } = await world.newPayer()
    symlinkSync(join(root, 'e2e/node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'call.mjs'), program.replace('http://127.0.0.1:8080', world.gateway.url))
    const call = async () =>
      (await promisify(execFile)(process.execPath, ['call.mjs'], { cwd: folder, env: { KEY: privateKey } }))
        .stdout
    expect(await call()).toMatch(/result: '0x[0-9a-f]+' } credits left: 99$/m)
    expect(await call()).toMatch(/result: '0x[0-9a-f]+' } credits left: 98$/m)
    await expectPaidOnce(world, address, { calls: 2 })
  })
})
