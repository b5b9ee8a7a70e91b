import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare, root } from '../scripts/prepare.mjs'
import { requireFrom } from './verify/borrowed.mjs'

const HELP = `Usage: node bench/penniless-wallet.mjs [--headers 605] [--buyers 4] [--help]

Starts both services on a chain and stores of their own, with a tenth of the usual rate limits, and lets one wallet without
money use up the gateway's client key at the facilitator, while honest wallets buy credits: first with garbage signatures,
then with valid ones. Prints how everybody was answered before, during and after, and exits with 1 if an honest buyer was
not served. Removes everything afterwards. Takes about a minute.

  --headers N  payment headers of the penniless wallet in each attack
  --buyers N   honest buyers in each phase, 5 at most
  --help       this text
`

/** A tenth of the default of each service. */
const FACILITATOR_LIMIT = '600'
const limits = {
  facilitator: { RATE_LIMIT_PAYMENTS_PER_MINUTE: FACILITATOR_LIMIT },
  gateway: { FACILITATOR_REQUESTS_PER_MINUTE: '300', RATE_LIMIT_PAYMENTS_PER_MINUTE: '30' },
}
const AT_ONCE = 32
const TIMEOUT_MS = 60_000

const transferTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

async function main() {
  const { values } = parseArgs({
    options: {
      headers: { type: 'string', default: '605' },
      buyers: { type: 'string', default: '4' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return process.stdout.write(HELP)
  const [headers, buyers] = [countOf('headers', values.headers, 100_000), countOf('buyers', values.buyers, 5)]

  await prepare({ projects: ['packages/devnet', 'apps/gateway', 'apps/facilitator'], forTests: false })
  const devnet = await import('../packages/devnet/dist/index.js')
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const processes = devnet.createProcessGroup()
  try {
    const environment = (name) => limits[name.split('-')[0]]
    const state = devnet.openState(folder)
    const world = await devnet.startDevnet({
      root,
      state,
      processes,
      usualPorts: false,
      overrides: { environment },
    })
    await attack(world, devnet.developmentWallets, { headers, buyers })
  } finally {
    await processes.stop()
    devnet.removePostgres(join(folder, 'postgres'))
    rmSync(folder, { recursive: true, force: true })
  }
}

async function attack(world, wallets, { headers, buyers }) {
  const { Wallet } = requireFrom('packages/devnet')('ethers')
  const merchant = openMerchant(world, Wallet)
  const honest = await Promise.all(
    wallets.slice(0, 2 * buyers).map(({ privateKey }) => merchant.signIn(privateKey)),
  )
  const [regulars, newcomers] = [honest.slice(0, buyers), honest.slice(buyers)]
  const phases = [
    ['before', regulars, undefined],
    ['garbage signatures', newcomers, 'garbage'],
    ['valid signatures, no money', regulars, 'valid'],
    ['after', newcomers, undefined],
  ]
  const rows = []
  for (const [name, buying, signature] of phases)
    rows.push(await merchant.phase(name, buying, { signature, headers }))
  print(rows)
  if (rows.some(({ served }) => served < buyers)) process.exitCode = 1
}

function openMerchant({ gateway, facilitator, serviceName, plan }, Wallet) {
  const domain = { name: plan.asset_name, version: plan.asset_version, chainId: Number(plan.chain_id) }

  async function signIn(privateKey = `0x${randomBytes(32).toString('hex')}`) {
    const wallet = new Wallet(privateKey)
    const { address } = wallet
    const { nonce } = await json(`${gateway.url}/auth/nonce?address=${address}`)
    const message = `${serviceName} wants you to sign in.\n\nAddress: ${address}\nNonce: ${nonce}\nIssued At: ${new Date().toISOString()}`
    const { chain_id: x402_chain_id, ecosystem: x402_ecosystem, id: pricing_plan_id } = plan
    const login = { message, address, signature: await wallet.signMessage(message), auth_method: 'siwe' }
    const { token } = await json(`${gateway.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...login, x402_chain_id, x402_ecosystem, pricing_plan_id }),
    })
    return { wallet, address, token }
  }

  async function header({ wallet, address }, signature) {
    const seconds = Math.floor(Date.now() / 1000)
    const authorization = {
      from: address,
      to: plan.pay_to,
      value: plan.amount,
      validAfter: String(seconds - 600),
      validBefore: String(seconds + 600),
      nonce: `0x${randomBytes(32).toString('hex')}`,
    }
    const signed =
      signature === 'garbage'
        ? `0x${randomBytes(64).toString('hex')}1b`
        : await wallet.signTypedData(
            { ...domain, verifyingContract: plan.asset_address },
            transferTypes,
            authorization,
          )
    const payload = { signature: signed, authorization }
    const payment = { x402Version: 1, scheme: 'exact', network: plan.network, payload }
    return Buffer.from(JSON.stringify(payment)).toString('base64')
  }

  async function pay(session, signature) {
    const startedAt = performance.now()
    const answer = await fetch(`${gateway.url}/rpc`, {
      method: 'POST',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        authorization: `Bearer ${session.token}`,
        'content-type': 'application/json',
        'x-payment': await header(session, signature),
      },
      body: JSON.stringify({
        ecosystem: plan.ecosystem,
        chain_id: plan.chain_id,
        resource: '',
        method: 'POST',
        transport: 'rpc',
        payload: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
      }),
    })
    const { code } = await answer.json()
    return { answer: [answer.status, code].filter(Boolean).join(' '), ms: performance.now() - startedAt }
  }

  /** Settlement requests with a response. */
  async function settleRequests() {
    const text = await (await fetch(facilitator.metricsUrl)).text()
    const counts = [...text.matchAll(/^http_request_duration_seconds_count\{([^}]*)\} (\d+)/gm)]
    return counts
      .filter(([, labels]) => labels.includes('route="/api/v1/settle"'))
      .reduce((sum, [, , count]) => sum + Number(count), 0)
  }

  async function flood(attacker, signature, headers) {
    const answers = []
    let sent = 0
    const lane = async () => {
      while (sent++ < headers) answers.push((await pay(attacker, signature)).answer)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
    return answers
  }

  /** The buyers start after the last response to the attack, when the key's rate limit is most likely exceeded. */
  async function phase(name, buying, { signature, headers }) {
    const before = await settleRequests()
    const attacker = signature && (await signIn())
    const attacked = attacker ? await flood(attacker, signature, headers) : []
    const bought = await Promise.all(buying.map((session) => pay(session)))
    const served = bought.filter(({ answer }) => answer === '200').length
    const stored = attacker && (await json(`${gateway.url}/payments/${attacker.address}`)).pagination.total
    return {
      name,
      attacked: tally(attacked),
      stored: stored ?? '',
      settles: (await settleRequests()) - before,
      served,
      bought: tally(bought.map(({ answer }) => answer)),
      slowest: Math.round(Math.max(...bought.map(({ ms }) => ms))),
    }
  }

  return { signIn, phase }
}

function print(rows) {
  const table = [
    ['phase', 'penniless wallet', 'its rows', '/settle asked', 'honest buyers', 'slowest, ms'],
    ...rows.map(({ name, attacked, stored, settles, bought, slowest }) => [
      name,
      attacked,
      stored,
      settles,
      bought,
      slowest,
    ]),
  ].map((row) => row.map(String))
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)))
  const line = (row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd()
  console.log(`\nThe facilitator takes ${FACILITATOR_LIMIT} requests a minute from the gateway's key.\n`)
  console.log(table.map(line).join('\n'))
}

const tally = (answers) =>
  [...new Set(answers)]
    .sort()
    .map((answer) => `${answers.filter((other) => other === answer).length} x ${answer}`)
    .join(', ')

async function json(url, options = {}) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), ...options })
  if (!answer.ok) throw new Error(`${new URL(url).pathname} answered ${answer.status}`)
  return answer.json()
}

function countOf(name, text, most) {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > most)
    throw new Error(`--${name}: expected a whole number, 1 to ${most}`)
  return count
}

await main()
