import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './prepare.mjs'

const HELP = `Usage: npm run faucet -- ADDRESS [--devnet FILE]

Sends test money to a wallet, on the chains that "npm start" runs on this machine: 1 USDC to an address 0x…, 1 ATOM to
an address cosmos1….

  --devnet FILE   addresses (default: .tollgate/devnet.json)
  --help          this text
`

async function main() {
  const { values, positionals } = parseArgs({
    options: {
      help: { type: 'boolean' },
      devnet: { type: 'string', default: join(root, '.tollgate/devnet.json') },
    },
    allowPositionals: true,
  })
  if (values.help) return process.stdout.write(HELP)
  const [address, ...others] = positionals
  if (address === undefined || others.length > 0) {
    process.stderr.write(HELP)
    return (process.exitCode = 2)
  }
  if (!existsSync(values.devnet)) throw new Error('nothing is up: run npm start in another terminal first')
  const { networks } = JSON.parse(readFileSync(values.devnet, 'utf8'))
  const { fundFromFaucet } = await import('../packages/devnet/dist/faucet.js')
  console.log(`${address} has got ${await fundFromFaucet(address, networks)}`)
}

main().catch((error) => {
  console.error(`npm run faucet: ${error.message}`)
  process.exit(error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1)
})
