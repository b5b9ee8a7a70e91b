import { build as bundle } from 'esbuild'
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build, root } from './build.mjs'

const LIMIT_BYTES = 27_000

const HELP = `Usage: node packages/wallet/scripts/pack.mjs [--json] [--help]

Makes packages/wallet ready for "npm pack" and "npm publish", which run it first (prepack). It

1. builds dist/cjs and dist/esm with their declarations (scripts/build.mjs);
2. bundles each entry for a browser, minified, with its dependencies and without its peers and the modules of Node, and prints
   the sizes and what remains imported.

Fails if the types are wrong, if an entry is missing, if the main entry is larger than ${LIMIT_BYTES / 1000} kB with gzip, or if it imports anything
of Node or a peer.

  --json   print the sizes and the imports that remain in each bundle as JSON
  --help   this text
`

async function main() {
  const { values } = parseArgs({ options: { json: { type: 'boolean' }, help: { type: 'boolean' } } })
  if (values.help) return process.stdout.write(HELP)
  if (!values.json) console.log('building dist/cjs and dist/esm')
  build({ withTests: false })
  const bundles = await measure()
  if (values.json) console.log(JSON.stringify(bundles, undefined, 2))
  else console.log(table(bundles))
  const [entry] = bundles
  if (entry.imports.length > 0) throw new Error(`the main entry imports ${entry.imports.join(', ')}`)
  if (entry.gzip > LIMIT_BYTES)
    throw new Error(`the main entry has ${kB(entry.gzip)} with gzip; the limit is ${kB(LIMIT_BYTES)}`)
}

/** The main entry first; last, a program that uses one small function of it. */
async function measure() {
  const { name, exports, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const peers = Object.keys(peerDependencies).flatMap((peer) => [peer, `${peer}/*`])
  const bundles = []
  for (const path of Object.keys(exports)) {
    const entry = `${name}${path.slice(1)}`
    bundles.push({ entry, ...(await sizeOf(`export * from '${entry}'`, peers)) })
  }
  const entry = 'only isTollgateError'
  bundles.push({ entry, ...(await sizeOf(`export { isTollgateError } from '${name}'`, peers)) })
  return bundles
}

async function sizeOf(contents, peers) {
  const { outputFiles, metafile } = await bundle({
    stdin: { contents, resolveDir: root },
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    external: [...peers, 'node:*', ...builtinModules],
    logLevel: 'error',
  })
  const [{ contents: code }] = outputFiles
  const [{ imports }] = Object.values(metafile.outputs)
  const remaining = new Set(imports.filter(({ external }) => external).map(({ path }) => path))
  return { bytes: code.length, gzip: gzipSync(code, { level: 9 }).length, imports: [...remaining].sort() }
}

const kB = (bytes) => `${(bytes / 1000).toFixed(1)} kB`

function table(bundles) {
  const rows = [
    ['bundle', 'minified', 'gzip', 'imports'],
    ...bundles.map(({ entry, bytes, gzip, imports }) => [entry, kB(bytes), kB(gzip), imports.join(', ')]),
  ]
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 1 || column === 2 ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

main().catch((error) => {
  console.error(`pack: ${error.message}`)
  process.exitCode = error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1
})
