import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
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
  compress(join(root, 'dist', mode, 'assets'))
}
await buildDevelopmentWallets()
