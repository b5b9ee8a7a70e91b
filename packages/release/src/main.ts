import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { billsOfMaterials, imageArtifact, packageArtifact } from './artifacts'
import { closeUnreleased } from './changelog'
import { entriesBelow, folderDigest } from './folder-digest'
import { git } from './git'
import { releasableBranch, setVersion, versionOf } from './versions'

const HELP = `Usage: pnpm release VERSION [OPTIONS]

Releases this checkout as VERSION, such as 1.2.3:

  1. sets the version of every package and image tag, and gives the entries under "Unreleased" in CHANGELOG.md to it, in a commit
  2. builds both images from that commit twice, by the steps of their Dockerfiles and without Docker: the files must be equal
  3. checks the licenses of all that is distributed
  4. writes a bill of materials (CycloneDX) of each image and published package, and the digests of the images
  5. moves the branch to the commit and tags it vVERSION

A failure before step 5 leaves the checkout as it was. Takes five to ten minutes and 3 GB of disk. Exit code 0: released; 1: not
released; 2: wrong usage.

  --dry-run       everything but step 5
  --into FOLDER   where step 4 writes (default: .tollgate/releases/VERSION)
  --help          this text
`

const root = resolve(__dirname, '../../..')
const SERVICES = ['gateway', 'facilitator'] as const
const PUBLISHED = ['wallet', 'cli'] as const

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean' }, into: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const [version, ...others] = positionals
  if (version === undefined || others.length > 0) {
    process.stderr.write(HELP)
    return 2
  }
  const into = values.into ?? join(root, '.tollgate/releases', version)
  const branch = releasableBranch(root, version)
  if (existsSync(BUILD_FOLDER))
    throw new Error(`${BUILD_FOLDER} exists: another release runs, or was stopped`)

  const folder = mkdtempSync(join(tmpdir(), 'tollgate-release-'))
  const checkout = join(folder, 'checkout')
  try {
    git(root, 'worktree', 'add', '--quiet', '--detach', checkout, 'HEAD')
    const commit = commitVersion(checkout, version)
    const digests = await buildTwice(folder, checkout)
    await writeArtifacts({ into, folder, checkout, version, commit, digests })
    if (values['dry-run']) print(`${version} could be released; nothing was changed`)
    else publish({ branch, commit, version })
  } finally {
    rmSync(folder, { recursive: true, force: true })
    git(root, 'worktree', 'prune')
  }
  return 0
}

function commitVersion(checkout: string, version: string): string {
  const changed = setVersion(checkout, versionOf(checkout), version)
  const changelog = join(checkout, 'CHANGELOG.md')
  const today = new Date().toISOString().slice(0, 10)
  writeFileSync(changelog, closeUnreleased(readFileSync(changelog, 'utf8'), version, today))
  git(checkout, 'commit', '--quiet', '--all', '--message', `Release ${version}`)
  print(`${version} is set in ${changed.length} files and CHANGELOG.md`)
  return git(checkout, 'rev-parse', 'HEAD')
}

/** pnpm names our packages by the folder they are built in, which is the same in every container. */
const BUILD_FOLDER = '/tmp/tollgate-images'

/** Builds each image twice, into `folder`, one after the other. @returns the digest of each */
async function buildTwice(folder: string, checkout: string): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const service of SERVICES) {
    for (const name of ['first', 'second']) {
      await build(service, checkout)
      renameSync(join(BUILD_FOLDER, service, 'last/app'), appOf(folder, service, name))
      rmSync(BUILD_FOLDER, { recursive: true })
    }
    const [first, second] = [appOf(folder, service, 'first'), appOf(folder, service, 'second')]
    const digest = folderDigest(first)
    if (digest !== folderDigest(second))
      throw new Error(`two builds of ${service} differ:\n  ${differences(first, second).join('\n  ')}`)
    rmSync(second, { recursive: true })
    digests[service] = digest
    print(`${service}: two builds are equal: ${digest}`)
  }
  return digests
}

const appOf = (folder: string, service: string, build: string) => join(folder, `${service}-${build}`)

function differences(first: string, second: string): string[] {
  const of = (folder: string) => new Set(entriesBelow(folder))
  const [here, there] = [of(first), of(second)]
  return [
    ...[...here].filter((entry) => !there.has(entry)).map((entry) => `first: ${entry}`),
    ...[...there].filter((entry) => !here.has(entry)).map((entry) => `second: ${entry}`),
  ].slice(0, 20)
}

async function build(service: string, checkout: string): Promise<void> {
  const script = join(root, 'docker/check-build-steps.mjs')
  const args = [script, service, '--folder', BUILD_FOLDER, '--context', checkout]
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' })
  const code = await new Promise((done, failed) => child.once('error', failed).once('close', done))
  if (code !== 0) throw new Error(`${service} could not be built`)
}

async function writeArtifacts(parts: {
  into: string
  folder: string
  checkout: string
  version: string
  commit: string
  digests: Record<string, string>
}): Promise<void> {
  const { into, folder, checkout, version, commit, digests } = parts
  const bills = await billsOfMaterials(
    [
      ...SERVICES.map((service) => imageArtifact(service, appOf(folder, service, 'first'))),
      ...PUBLISHED.map((name) => packageArtifact(name, join(root, 'packages', name))),
    ],
    join(checkout, 'pnpm-lock.yaml'),
  )
  mkdirSync(into, { recursive: true })
  for (const [name, text] of bills) writeFileSync(join(into, name), text)
  const release = { version, commit, images: digests }
  writeFileSync(join(into, 'release.json'), `${JSON.stringify(release, null, 2)}\n`)
  print(`licenses are allowed; ${bills.size} bills of materials and the digests are in ${into}`)
}

function publish({ branch, commit, version }: { branch: string; commit: string; version: string }): void {
  git(root, 'merge', '--quiet', '--ff-only', commit)
  git(root, 'tag', '--annotate', '--message', `Tollgate ${version}`, `v${version}`)
  print(`released ${version}. Next, as CONTRIBUTING.md describes:`)
  print(`  git push origin ${branch} v${version}`)
}

const print = (line: string) => process.stdout.write(`${line}\n`)

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  },
)
