#!/usr/bin/env node
if (!require('node:fs').existsSync(`${__dirname}/../dist/main.js`)) {
  console.error(
    'tollgate: this checkout is not built; run in its root: npx pnpm@10 install && npx pnpm@10 --filter "@tollgate/cli..." build',
  )
  process.exit(1)
}
require('../dist/main.js')
