import { git } from './git'

export type Release = { version: string; commit: string }

/**
 * The release before the commit `head`: the newest commit before it that changed the version of the repository. It needs no tag,
 * which a clone may lack.
 *
 * @returns undefined if the history holds none, as in a shallow clone or an archive
 */
export function previousRelease(root: string, head = 'HEAD'): Release | undefined {
  try {
    const commits = git(root, 'log', '--format=%H', '-G^  "version":', `${head}~1`, '--', 'package.json')
    const [commit] = commits.split('\n')
    // The first commit of the history is no release: it only began it.
    if (!commit || !hasParent(root, commit)) return undefined
    const manifest = JSON.parse(git(root, 'show', `${commit}:package.json`)) as { version: string }
    return { version: manifest.version, commit }
  } catch {
    return undefined
  }
}

const hasParent = (root: string, commit: string) =>
  git(root, 'rev-list', '--parents', '-1', commit).includes(' ')
