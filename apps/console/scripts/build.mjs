import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Below it, compression saves no packet. */
const MIN_COMPRESSED_BYTES = 1_024

/** Writes `file.br` and `file.gz` beside each file, once for all responses. Returns the sizes. */
function compress(folder) {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (statSync(file).size < MIN_COMPRESSED_BYTES) continue
    const bytes = readFileSync(file)
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  }
}

const styles = dirname(createRequire(import.meta.url).resolve('@mantine/core/styles.css'))
const classesOf = (text) => new Set(text.match(/\bm_[0-9a-f]{6,}\b/g))

/** A component without its styles would show as plain text: the pages load those of the components they use. */
function checkStyles(folder) {
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const files = readdirSync(join(folder, 'assets')).filter((name) => /\.(js|css)$/.test(name))
  const classesIn = (kind, isChosen) =>
    classesOf(
      files
        .filter((name) => name.endsWith(kind) && isChosen(name))
        .map((name) => readFileSync(join(folder, 'assets', name), 'utf8'))
        .join('\n'),
    )
  const known = classesOf(readFileSync(join(styles, 'styles.css'), 'utf8'))
  for (const [sheet, isChosen] of [
    ['initial.css', (name) => page.includes(name)],
    ['on-demand.css', () => true],
  ]) {
    const styled = classesIn('.css', isChosen)
    const missing = [...classesIn('.js', isChosen)].filter((name) => known.has(name) && !styled.has(name))
    if (missing.length === 0) continue
    const components = readdirSync(join(styles, 'styles')).filter(
      (name) =>
        !name.endsWith('.layer.css') &&
        missing.some((missed) => readFileSync(join(styles, 'styles', name), 'utf8').includes(missed)),
    )
    throw new Error(`${folder}: add to src/shell/${sheet} the styles ${components.join(', ')}`)
  }
}

/** For development networks only: in no image. Classic scripts run before the module of the page. */
const buildDevelopmentWallets = () =>
  build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      outDir: 'dist/development',
      reportCompressedSize: false,
      lib: {
        entry: 'src/development/wallets.ts',
        name: 'wallets',
        formats: ['iife'],
        fileName: () => 'wallets.js',
      },
    },
  })

for (const mode of ['gateway', 'facilitator']) {
  await build({ root, mode, logLevel: 'warn' })
  checkStyles(join(root, 'dist', mode))
  compress(join(root, 'dist', mode, 'assets'))
}
await buildDevelopmentWallets()
