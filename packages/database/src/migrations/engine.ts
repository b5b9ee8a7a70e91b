import { readFile } from 'node:fs/promises'
import type { Client } from 'pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg'
import { adapterOver } from './adapter'
import type { Migration } from './folder'

/** Missing in the types of Node. */
declare const WebAssembly: {
  instantiate: (
    bytes: Uint8Array,
    imports: object,
  ) => Promise<{ instance: { exports: { __wbindgen_start: () => void } } }>
}

const ENGINE = '@prisma/schema-engine-wasm/schema_engine_bg'

export const migrationList = (migrations: Migration[]): MigrationList => ({
  baseDir: '',
  lockfile: { path: 'migration_lock.toml', content: LOCKFILE },
  shadowDbInitScript: '',
  migrationDirectories: migrations.map(({ name, sql }) => ({
    path: name,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
  })),
})

export const LOCKFILE = 'provider = "postgresql"\n'

export const filters = { externalTables: [], externalEnums: [] }

/** Prisma's schema engine as WebAssembly, which runs on the caller's connection. Loading it takes about 60 ms. */
export async function openEngine(
  client: Client,
  schema?: { path: string; content: string },
): Promise<SchemaEngine> {
  const constructor = await load()
  const connect = () => Promise.resolve(adapterOver(client))
  const factory = { ...adapterOver(client), connect, connectToShadowDb: connect }
  return constructor.new(
    { datamodels: schema && [[schema.path, schema.content]] },
    () => undefined,
    bindMigrationAwareSqlAdapterFactory(factory),
  )
}

let loaded: Promise<typeof SchemaEngine> | undefined
const load = () => (loaded ??= instantiate())

async function instantiate(): Promise<typeof SchemaEngine> {
  const bindings = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const bytes = await readFile(require.resolve(ENGINE).replace(/\.js$/, '.wasm'))
  const imports = { './schema_engine_bg.js': { ...bindings, ...timers(bindings) } }
  const { instance } = await WebAssembly.instantiate(bytes, imports)
  // The engine writes its panic message here; the trap that follows says only "unreachable".
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: { set_message: (text: string) => process.stderr.write(text) },
  })
  bindings.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
  return bindings.SchemaEngine
}

/** The engine never clears its ten-second lock timer, so it is unreferenced to let the process exit. */
function timers(bindings: object) {
  const names = Object.keys(bindings).filter((name) => name.startsWith('__wbg_setTimeout'))
  const start = (callback: () => void, milliseconds: number) => setTimeout(callback, milliseconds).unref()
  return Object.fromEntries(names.map((name) => [name, start]))
}
