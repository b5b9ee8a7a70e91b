import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export type InstalledPackage = { name: string; version: string; license: string; folder: string }

type Manifest = {
  name: string
  version: string
  license?: string | { type: string }
  licenses?: { type: string }[]
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

/**
 * All installed packages that the package in `folder` depends on when it runs, itself first, the others by name and version.
 */
export function installedPackages(folder: string): InstalledPackage[] {
  const found = new Map<string, InstalledPackage>()
  const waiting = [realpathSync(folder)]
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (found.has(place)) continue
    const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Manifest
    const { name, version } = manifest
    found.set(place, { name, version, license: licenseIn(manifest), folder: place })
    waiting.push(...dependencyFolders(manifest, place))
  }
  const [root, ...others] = [...found.values()]
  const ordered = others.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  // The same version is installed once for each set of its peers.
  return [...new Map([root, ...ordered].flatMap((one) => (one ? [[keyOf(one), one]] : []))).values()]
}

const keyOf = ({ name, version }: InstalledPackage) => `${name}@${version}`

/** Without what is not installed: optional packages, and what pnpm-workspace.yaml overrides with nothing. */
function dependencyFolders(manifest: Manifest, place: string): string[] {
  const { dependencies, optionalDependencies, peerDependencies = {} } = manifest
  const names = Object.keys({ ...dependencies, ...optionalDependencies })
  return [
    ...names.flatMap((name) => resolveFolder(name, place) ?? []),
    // pnpm installs peers beside the package; further up is what others depend on.
    ...Object.keys(peerDependencies).flatMap((name) => installedIn(siblings(place), name) ?? []),
  ]
}

/** As Node resolves it: `node_modules` of the folder or of its parents. */
function resolveFolder(name: string, place: string): string | undefined {
  for (let at = place; at !== dirname(at); at = dirname(at)) {
    const folder = installedIn(basename(at) === 'node_modules' ? at : join(at, 'node_modules'), name)
    if (folder !== undefined) return folder
  }
  return undefined
}

const siblings = (place: string) => place.slice(0, place.lastIndexOf('node_modules') + 'node_modules'.length)

function installedIn(modules: string, name: string): string | undefined {
  const folder = join(modules, name)
  return existsSync(join(folder, 'package.json')) ? realpathSync(folder) : undefined
}

function licenseIn({ license, licenses = [] }: Manifest): string {
  if (typeof license === 'string') return license
  const types = license ? [license.type] : licenses.map(({ type }) => type)
  return types.length > 1 ? `(${types.join(' OR ')})` : (types[0] ?? 'none')
}
