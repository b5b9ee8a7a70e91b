import { type CommandIo, parseOptions, readEnvironment, UsageError } from '@tollgate/service'
import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { applyCatalog } from '../catalog/apply'
import { findMissingSecrets, findOpenKeys } from '../catalog/secrets/check-secrets'
import { parseCatalog } from '../catalog/catalog-file'
import { hiddenPlans } from '../catalog/hidden-plans'
import { ignoredWeights } from '../catalog/ignored-weights'
import { CatalogError, MAX_BYTES } from '../catalog/yaml-diagnostics'
import { Environment } from '../config'
import { CATALOG_HELP } from './cli-help'
import { type Command, commandName, databaseUrl, withDatabase } from './command'

export const catalogCommand: Command = {
  help: CATALOG_HELP,
  async run(args, io) {
    const name = commandName(args, 'catalog')
    if (name !== 'apply') throw new UsageError(`unknown command "catalog ${name}"`)
    const { values, positionals } = parseOptions(args.slice(1), { 'dry-run': { type: 'boolean' } })
    const [file, ...more] = positionals
    if (file === undefined) throw new UsageError('catalog apply requires a file')
    if (more.length > 0) throw new UsageError(`catalog apply takes one file; unexpected "${more.join(' ')}"`)
    return apply({ file, dryRun: values['dry-run'] === true }, io)
  },
}

const Mode = Environment.pick({ NODE_ENV: true })

async function apply({ file, dryRun }: { file: string; dryRun: boolean }, io: CommandIo): Promise<number> {
  const isProduction = readEnvironment(Mode, io.environment).NODE_ENV === 'production'
  const url = databaseUrl(io)
  const catalog = parseCatalog(await textOf(file), { isProduction })
  const missing = await findMissingSecrets(catalog, io.environment, { isProduction })
  if (missing.length > 0 && !dryRun)
    throw new CatalogError(`The catalog was not applied:\n${missing.map((line) => `  ${line}`).join('\n')}`)
  await withDatabase({ url }, io, async (database) => {
    const lines = await applyCatalog(database, catalog, { dryRun })
    const all = lines.length > 0 ? lines : ['nothing changed']
    io.out(`${[...(dryRun ? ['dry run: nothing is written'] : []), ...all].join('\n')}\n`)
  })
  for (const line of [...missing, ...findOpenKeys(catalog)]) io.err(`warning: ${line}\n`)
  if (!catalog.plans.some(({ active }) => active)) io.err('warning: no plan is sold after this\n')
  for (const warning of [...hiddenPlans(catalog), ...ignoredWeights(catalog)]) io.err(`warning: ${warning}\n`)
  if (!catalog.providers.some(({ active }) => active)) io.err('warning: no provider serves after this\n')
  return 0
}

async function textOf(file: string): Promise<string> {
  try {
    const bytes = await buffer(createReadStream(file, { end: MAX_BYTES }))
    if (isUtf8(bytes)) return bytes.toString()
  } catch (error) {
    throw new CatalogError(
      `${JSON.stringify(file)} cannot be read: ${reasonFor(error as NodeJS.ErrnoException)}`,
    )
  }
  throw new CatalogError(`${JSON.stringify(file)} is not text in UTF-8`)
}

function reasonFor({ code, message }: NodeJS.ErrnoException) {
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EISDIR') return 'is a directory'
  if (code === 'EACCES') return 'permission denied'
  return message
}
