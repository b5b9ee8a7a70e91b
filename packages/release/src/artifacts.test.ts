import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { billsOfMaterials, imageArtifact, integritiesIn } from './artifacts'
import { folderDigest } from './folder-digest'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-artifacts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const write = (path: string, value: unknown) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), JSON.stringify(value))
}
const link = (target: string, path: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  symlinkSync(join(folder, target), join(folder, path))
}

const store = 'app/node_modules/.pnpm'
const INTEGRITY = `sha512-${Buffer.alloc(64, 1).toString('base64')}`

/** An app as pnpm installs it: with a dependency that has one of its own, a peer, and a package that only others need. */
function installApp(license: string) {
  write('app/package.json', {
    name: '@tollgate/gateway',
    version: '1.0.0',
    license: 'Apache-2.0',
    dependencies: { a: '1.0.0', omitted: '1.0.0' },
  })
  write(`${store}/a@1.0.0/node_modules/a/package.json`, {
    name: 'a',
    version: '1.0.0',
    license: 'MIT',
    dependencies: { '@s/b': '2.0.0' },
    peerDependencies: { tool: '*' },
  })
  write(`${store}/@s+b@2.0.0/node_modules/@s/b/package.json`, { name: '@s/b', version: '2.0.0', license })
  write(`${store}/node_modules/tool/package.json`, { name: 'tool', version: '1.0.0', license: 'EPL-2.0' })
  write('app/node_modules/@tollgate/console/dist/gateway/licenses.json', [
    { name: 'react', version: '19.0.0', identifier: 'MIT' },
  ])
  write('pnpm-lock.yaml', { packages: { 'a@1.0.0': { resolution: { integrity: INTEGRITY } } } })
}

const bills = () =>
  billsOfMaterials([imageArtifact('gateway', join(folder, 'app'))], join(folder, 'pnpm-lock.yaml'))

beforeAll(() => {
  installApp('(MIT OR GPL-3.0-only)')
  link(`${store}/a@1.0.0/node_modules/a`, 'app/node_modules/a')
  link(`${store}/@s+b@2.0.0/node_modules/@s/b`, `${store}/a@1.0.0/node_modules/@s/b`)
})

test('a bill of materials names what is installed and what the pages contain, with license and checksum', async () => {
  const text = (await bills()).get('gateway-image.cdx.json') ?? ''
  const { metadata, components, ...rest } = JSON.parse(text) as {
    metadata: { component: { purl: string } }
    components: { purl: string; licenses: unknown; hashes?: unknown }[]
  }
  expect(rest).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' })
  expect(metadata.component.purl).toBe('pkg:npm/%40tollgate/gateway@1.0.0')
  expect(components.map(({ purl, licenses, hashes }) => ({ purl, licenses, hashes }))).toEqual([
    {
      purl: 'pkg:npm/%40s/b@2.0.0',
      licenses: [{ expression: '(MIT OR GPL-3.0-only)' }],
      hashes: undefined,
    },
    {
      purl: 'pkg:npm/a@1.0.0',
      licenses: [{ expression: 'MIT' }],
      hashes: [{ alg: 'SHA-512', content: '01'.repeat(64) }],
    },
    { purl: 'pkg:npm/react@19.0.0', licenses: [{ expression: 'MIT' }], hashes: undefined },
  ])
  expect((await bills()).get('gateway-image.cdx.json')).toBe(text)
})

test.each(['GPL-3.0-only', 'MIT AND AGPL-3.0-only', 'none', 'SEE LICENSE IN FILE'])(
  'a package under "%s" stops the release',
  async (license) => {
    installApp(license)
    await expect(bills()).rejects.toThrow(`gateway-image: @s/b@2.0.0: license "${license}" is not allowed`)
  },
)

test('the checksums come from the lock file', () => {
  expect(integritiesIn('packages:\n  a@1.0.0:\n    resolution: {integrity: sha512-x}\n')).toEqual(
    new Map([['a@1.0.0', 'sha512-x']]),
  )
})

test('the digest of a folder changes with a path, a byte, a link and the permission to execute', () => {
  const place = join(folder, 'digest')
  const digestOf = (name: string, text: string, mode: number, target: string) => {
    rmSync(place, { recursive: true, force: true })
    mkdirSync(place)
    writeFileSync(join(place, name), text, { mode })
    symlinkSync(target, join(place, 'link'))
    return folderDigest(place)
  }
  const first = digestOf('a', 'text', 0o644, 'a')
  expect(digestOf('a', 'text', 0o600, 'a')).toBe(first)
  const others = [
    digestOf('b', 'text', 0o644, 'a'),
    digestOf('a', 'texts', 0o644, 'a'),
    digestOf('a', 'text', 0o755, 'a'),
    digestOf('a', 'text', 0o644, 'b'),
  ]
  expect(new Set([first, ...others]).size).toBe(5)
})
