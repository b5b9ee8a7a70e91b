import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git } from './git'
import { previousRelease } from './previous-release'
import { checkNext, releasableBranch, setVersion, versionOf } from './versions'

const root = mkdtempSync(join(tmpdir(), 'tollgate-versions-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const manifest = (version: string) =>
  `${JSON.stringify({ name: 'x', version, dependencies: { y: '1.0.0' } }, null, 2)}\n`
const commit = (message: string) => {
  git(root, 'add', '--all')
  git(root, '-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit', '--quiet', '-m', message)
  return git(root, 'rev-parse', 'HEAD')
}
const release = (next: string) => {
  setVersion(root, versionOf(root), next)
  return commit(`Release ${next}`)
}

beforeAll(() => {
  git(root, 'init', '--quiet', '--initial-branch', 'work')
  mkdirSync(join(root, 'apps/gateway'), { recursive: true })
  mkdirSync(join(root, 'k8s'))
  writeFileSync(join(root, 'package.json'), manifest('1.0.0'))
  writeFileSync(join(root, 'apps/gateway/package.json'), manifest('1.0.0'))
  writeFileSync(
    join(root, 'k8s/deployment.yaml'),
    'image: tollgate/gateway:1.0.0\nother: example/image:1.0.0\nnewTag: 1.0.0\n',
  )
  mkdirSync(join(root, 'k8s/chart'))
  writeFileSync(join(root, 'k8s/chart/Chart.yaml'), 'apiVersion: 1.0.0\nversion: 1.0.0\nappVersion: 1.0.0\n')
  commit('Begin')
})

test('one version for the repository: manifests and image tags change, versions of dependencies do not', () => {
  expect(previousRelease(root)).toBeUndefined()
  const first = release('1.1.0')
  expect(readFileSync(join(root, 'apps/gateway/package.json'), 'utf8')).toBe(manifest('1.1.0'))
  expect(readFileSync(join(root, 'k8s/deployment.yaml'), 'utf8')).toBe(
    'image: tollgate/gateway:1.1.0\nother: example/image:1.0.0\nnewTag: 1.1.0\n',
  )
  expect(readFileSync(join(root, 'k8s/chart/Chart.yaml'), 'utf8')).toBe(
    'apiVersion: 1.0.0\nversion: 1.1.0\nappVersion: 1.1.0\n',
  )

  writeFileSync(join(root, 'change'), 'a change')
  commit('Change')
  expect(previousRelease(root)).toEqual({ version: '1.1.0', commit: first })
  release('1.2.0')
  expect(previousRelease(root)).toEqual({ version: '1.1.0', commit: first })
})

test.each([
  ['1.0.0', '1.0.0', /not newer/],
  ['1.10.0', '1.9.0', /not newer/],
  ['1.0.0', '1.1', /no version/],
  ['1.0.0', 'v1.1.0', /no version/],
  ['1.0.0', '1.1.0-rc.1', /no version/],
])('after %s, %s is refused', (current, next, reason) => {
  expect(() => checkNext(current, next)).toThrow(reason)
})

describe('a checkout is released', () => {
  const file = join(root, 'change')
  const [current, next] = ['3.0.0', '3.1.0']
  beforeAll(() => void release(current))

  test('from its branch, if nothing is in the way', () => {
    expect(releasableBranch(root, next)).toBe('work')
  })

  test('not with a file that is changed, staged or new', () => {
    const dirty = /has changes: commit them first/
    writeFileSync(file, 'another change')
    expect(() => releasableBranch(root, next)).toThrow(dirty)
    git(root, 'add', '--all')
    expect(() => releasableBranch(root, next)).toThrow(dirty)
    git(root, 'reset', '--quiet', '--hard')
    writeFileSync(join(root, 'new'), '')
    expect(() => releasableBranch(root, next)).toThrow(dirty)
    rmSync(join(root, 'new'))
  })

  test('not as a version that is tagged, or not newer', () => {
    git(root, 'tag', `v${next}`)
    expect(() => releasableBranch(root, next)).toThrow(`the tag v${next} exists`)
    expect(() => releasableBranch(root, current)).toThrow(/not newer/)
  })

  test('not without a branch', () => {
    git(root, 'checkout', '--quiet', '--detach')
    expect(() => releasableBranch(root, '3.2.0')).toThrow(/symbolic ref/)
  })
})

test('after 1.9.0, 1.10.0 is newer', () => {
  expect(() => checkNext('1.9.0', '1.10.0')).not.toThrow()
})
