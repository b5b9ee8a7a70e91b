import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gt, valid } from 'semver'
import { git } from './git'

/** Manifests of packages, and the Kubernetes files that name the images or the chart. */
const CARRIERS = /(^|\/)package\.json$|^k8s\/.*\.ya?ml$/

/** @throws unless `next` is a release version such as 1.2.3, and newer than `current` */
export function checkNext(current: string, next: string): void {
  if (valid(next) !== next || next.includes('-'))
    throw new Error(`"${next}" is no version: expected three numbers, such as 1.2.3`)
  if (!gt(next, current)) throw new Error(`${next} is not newer than ${current}`)
}

/** The one version of the repository. */
export function versionOf(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return version
}

/** @returns the branch of the checkout at `root`; @throws what of the checkout is in the way of a release as `version` */
export function releasableBranch(root: string, version: string): string {
  checkNext(versionOf(root), version)
  if (git(root, 'status', '--porcelain') !== '')
    throw new Error('the checkout has changes: commit them first')
  if (git(root, 'tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} exists`)
  return git(root, 'symbolic-ref', '--short', 'HEAD')
}

/** Replaces the version in every manifest, and in every tag of our images. @returns the files it changed */
export function setVersion(root: string, current: string, next: string): string[] {
  return git(root, 'ls-files', '-z')
    .split('\0')
    .filter((file) => CARRIERS.test(file))
    .filter((file) => {
      const path = join(root, file)
      const text = readFileSync(path, 'utf8')
      const replaced = withVersion(text, current, next)
      if (replaced !== text) writeFileSync(path, replaced)
      return replaced !== text
    })
}

function withVersion(text: string, current: string, next: string): string {
  const version = current.replaceAll('.', '\\.')
  return text
    .replace(new RegExp(`^( {2}"version": )"${version}"`, 'm'), `$1"${next}"`)
    .replace(new RegExp(`(tollgate/(?:gateway|facilitator):)${version}$`, 'gm'), `$1${next}`)
    .replace(new RegExp(`^( *(?:newTag|tag|version|appVersion): )${version}$`, 'gm'), `$1${next}`)
}
