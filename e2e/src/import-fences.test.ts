import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = join(__dirname, '../..')
const programs = join(root, 'node_modules/.bin')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-fences-'))
afterAll(() => rmSync(folder, { recursive: true }))

const forbidden: [file: string, name: string][] = [
  ['apps/gateway/src/rpc', 'ethers'],
  ['apps/gateway/src/rpc', 'pg/lib/client'],
  ['apps/gateway/src/rpc', '@tollgate/testing/reference'],
  ['apps/gateway/src/rpc', '@tollgate/facilitator'],
  ['apps/facilitator/src/settlement', '../payments/store'],
  ['apps/facilitator/src/settlement', '../payments/versions/v1'],
  ['apps/facilitator/src/settlement', '../operations/cli/show'],
  ['apps/facilitator/src/settlement', '@cosmjs/crypto'],
  ['packages/protocol/src', '@tollgate/service'],
  ['packages/chains/src/evm', '@tollgate/database'],
  ['packages/webhooks/src', '@tollgate/chains'],
  ['packages/wallet/src', 'viem'],
  ['packages/wallet/src', './ethers.js'],
  ['packages/wallet/src', './adapters/caller.js'],
  ['packages/wallet/src/adapters', '@cosmjs/tendermint-rpc'],
  ['packages/wallet/src/wallets', '../eip1193.js'],
]
const allowed: [file: string, name: string] = ['apps/gateway/src/rpc', '@tollgate/chains']

test('lint refuses each import against the directions of ARCHITECTURE.md, at any depth, and no other', () => {
  cpSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
  const files = [...forbidden, allowed].map(([path, name], index) => {
    const file = `${path}/import-${index}.ts`
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), `import { x } from '${name}'\nexport const y = [x]\n`)
    return file
  })
  const { stdout } = spawnSync(join(programs, 'oxlint'), ['--format', 'unix'], {
    cwd: folder,
    // It finds its type checker there.
    env: { ...process.env, PATH: `${programs}:${process.env['PATH'] ?? ''}` },
    encoding: 'utf8',
    timeout: 60_000,
  })
  const refused = files.filter(
    (file) => stdout.includes(`${file}:1:1: `) && stdout.includes('no-restricted-imports'),
  )
  expect(refused).toEqual(files.slice(0, -1))
})
