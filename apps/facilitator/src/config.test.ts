import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { developmentCosmosSigner } from '@tollgate/cosmos-devchain'
import { developmentSigners } from '@tollgate/devnet'
import { ConfigurationError } from '@tollgate/service'
import { SigningKey } from 'ethers'
import { readConfiguration } from './config'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-config-'))
const NETWORKS_FILE = join(folder, 'networks.yaml')
const key = 'd1020bba921c02967b97c659cb32dd9fb8b30720385637f83c18fec453eb5ae7'
const otherKey = '79392337edb9431fcfc79b7be5247d94ad61f9455ba848dacbaca927039e731b'
const REDIS_URL = 'redis://redis:6379/0'

const yaml = `
- name: base-sepolia
  ecosystem: evm
  chain_id: 84532
  rpc_urls: [https://one.example, https://two.example]
  signer_keys: env:SIGNER_KEYS
  max_fee_per_gas: 5000000000
  max_fees_per_day: 50000000000000000
  assets:
    - { asset: 0x036CbD53842c5426634e7929541eC2318f3dCF7e, symbol: USDC, decimals: 6 }
`
const variables = {
  DATABASE_URL: 'postgresql://user:hidden@localhost/facilitator',
  JWT_SECRET: '427c45f2affe70e43f0cce03961f2526228a3e5b071f284ae76b202c1f8ae621',
  SIGNER_KEYS: `0x${key}, ${otherKey}`,
  NETWORKS_FILE,
}

beforeEach(() => writeFileSync(NETWORKS_FILE, yaml))
afterAll(() => rmSync(folder, { recursive: true }))

function problems(changes: NodeJS.ProcessEnv, file = yaml): string[] {
  writeFileSync(NETWORKS_FILE, file)
  try {
    readConfiguration({ ...variables, ...changes })
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}

test('reads the environment and the networks file, with its secrets from the environment', () => {
  const { environment, networks } = readConfiguration(variables)
  expect(environment).toMatchObject({ PORT: 8081, LOG_LEVEL: 'info', SETTLE_TIMEOUT_SECONDS: 25 })
  expect(networks).toEqual([
    {
      name: 'base-sepolia',
      ecosystem: 'evm',
      chainId: '84532',
      rpcUrls: ['https://one.example', 'https://two.example'],
      rpcTimeoutMs: 5_000,
      signerKeys: [`0x${key}`, `0x${otherKey}`],
      confirmations: 1,
      minRemainingValiditySeconds: 6,
      maxGas: 300_000n,
      maxFeesPerDay: 50_000_000_000_000_000n,
      own: { maxFeePerGas: 5_000_000_000n, walletFactories: [] },
      assets: [{ asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', symbol: 'USDC', decimals: 6 }],
    },
  ])
})

test.each(['[{0}, {1}]', '{0}, {1}', 'env:FACTORIES'])('reads factories of wallets from %s', (text) => {
  const factories = ['0xBA5ED110eFDBa3D005bfC882d75358ACBbB85842', `0x${'5c'.repeat(20)}`]
  const given = factories.reduce((filled, factory, i) => filled.replace(`{${i}}`, factory), text)
  writeFileSync(NETWORKS_FILE, yaml.replace('  assets', `  wallet_factories: ${given}\n  assets`))
  const { networks } = readConfiguration({ ...variables, FACTORIES: factories.join(',') })
  expect(networks[0]?.own).toMatchObject({ walletFactories: factories })
})

const cosmos = `
- name: cosmoshub-4
  ecosystem: cosmos
  chain_id: cosmoshub-4
  rpc_urls: https://one.example
  signer_keys: '98720b9ad75fc623d29e6c4760937fb7335eb7062d0c03cf9dc7f1501e62bb98'
  bech32_prefix: cosmos
  fee_denom: uatom
  gas_price: 0.025
  gasless_max_fee: 7500
  max_fees_per_day: 5000000
  assets:
    - { asset: uatom, symbol: ATOM, decimals: 6 }
`

test('reads the settings of one family only for its networks', () => {
  writeFileSync(NETWORKS_FILE, `${yaml}${cosmos}`)
  const { networks } = readConfiguration(variables)
  expect(networks[1]).toMatchObject({
    ecosystem: 'cosmos',
    maxFeesPerDay: 5_000_000n,
    own: { prefix: 'cosmos', feeDenom: 'uatom', gasPrice: 25n * 10n ** 15n, gaslessMaxFee: 7_500n },
  })
  expect(problems({}, cosmos.replace('gas_price: 0.025', 'max_fee_per_gas: 1'))).toEqual([
    expect.stringMatching(/networks\[0\]\.gas_price/),
    expect.stringMatching(/networks\[0\]: .*max_fee_per_gas/),
  ])
  expect(problems({}, cosmos.replace('0.025', '1/40'))).toEqual([
    expect.stringMatching(/networks\[0\]\.gas_price: expected an amount/),
  ])
})

test.each([
  ['SETTLE_WAIT_SECONDS', 'SETTLE_TIMEOUT_SECONDS'],
  ['VERDICT_TTL_SECONDS', 'VERIFICATION_CACHE_TTL_SECONDS'],
])('refuses %s, the name of an earlier release, and gives the new one', (old, name) => {
  expect(problems({ [old]: '5' })).toEqual([`${old}: renamed; set ${name} instead`])
})

test('lists all problems of both at once, by name and without values', () => {
  const file = yaml.replace('env:SIGNER_KEYS', 'hidden').replace('chain_id', 'chainid')
  const found = problems({ DATABASE_URL: 'hidden', JWT_SECRET: 'hidden', PORT: 'hidden' }, file)
  for (const name of ['DATABASE_URL', 'JWT_SECRET', 'PORT', 'chain_id', 'chainid', 'signer_keys'])
    expect(found.join('\n')).toContain(name)
  expect(found.join('\n')).not.toContain('hidden')
})

test.each<[string, string, RegExp]>([
  ['nothing', '', /networks: expected a list/],
  ['no list', 'name: x', /networks: expected a list/],
  ['an empty list', '[]', /networks/],
  ['no YAML', '- name: "hidden', /line 1 is not YAML/],
  [
    'an unset variable',
    yaml.replace('env:SIGNER_KEYS', 'env:NOT_SET'),
    /\[0\]\.signer_keys: the variable NOT_SET/,
  ],
  ['a network twice', `${yaml}${yaml}`, /base-sepolia is there twice/],
  [
    'a name that is the chain id of another',
    `${yaml}${yaml.replace('name: base-sepolia', "name: '84532'").replace('84532\n', '1\n')}`,
    /84532 names two networks/,
  ],
  [
    'a chain twice',
    `${yaml}${yaml.replace('name: base-sepolia', 'name: other')}`,
    /evm chain 84532 is there twice/,
  ],
  ['an unknown ecosystem', yaml.replace('evm', 'hidden'), /ecosystem/],
  [
    'an invalid balance',
    yaml.replace('max_fee_per_gas: 5000000000', 'signer_balance_warning: 0.01'),
    /signer_balance_warning/,
  ],
  [
    'the name of an earlier release',
    yaml.replace('max_fee_per_gas: 5000000000', 'confirmation_budget_seconds: 6'),
    /networks\[0\]\.confirmation_budget_seconds: renamed; set min_remaining_validity_seconds instead/,
  ],
  ['an invalid fee', yaml.replace('5000000000', '5 gwei'), /max_fee_per_gas/],
  [
    'a factory that is not an address',
    yaml.replace('  assets', '  wallet_factories: [0x5c]\n  assets'),
    /networks\[0\]\.wallet_factories\[0\]: expected an EVM address/,
  ],
  ['an invalid URL', yaml.replace('https://one.example', 'ws://one'), /rpc_urls/],
])('refuses a networks file with %s', (_name, file, problem) => {
  const found = problems({}, file).join('\n')
  expect(found).toMatch(problem)
  expect(found).not.toContain('hidden')
})

test('names a networks file that is unreadable or not set', () => {
  expect(problems({ NETWORKS_FILE: join(folder, 'none.yaml') })).toEqual([
    expect.stringMatching(/^NETWORKS_FILE/),
  ])
  expect(problems({ NETWORKS_FILE: '' })).toEqual([expect.stringMatching(/^NETWORKS_FILE: not set/)])
})

test('refuses the same signer key twice in one network', () => {
  expect(problems({ SIGNER_KEYS: `${key},0x${key.toUpperCase()}` })).toEqual([
    expect.stringMatching(/one key twice/),
  ])
})

const publicKey = SigningKey.computePublicKey(`0x${key}`)
const remote = (members = '') =>
  yaml.replace(
    '  signer_keys: env:SIGNER_KEYS\n',
    `  remote_signers:\n    url: https://signer.example/\n    public_keys: ${publicKey}\n${members}`,
  )

test('reads remote signers, alone or beside signer keys', () => {
  writeFileSync(NETWORKS_FILE, remote('    token: env:TOKEN\n'))
  const point = publicKey.slice(4)
  const [network] = readConfiguration({ ...variables, TOKEN: 'hidden' }).networks
  expect(network).toMatchObject({
    signerKeys: [],
    remoteSigners: {
      url: 'https://signer.example',
      publicPoints: [point],
      token: 'hidden',
      timeoutMs: 2_000,
    },
  })
  expect(problems({}, remote('  signer_keys: env:SIGNER_KEYS\n'))).toEqual([])
})

test.each<[string, string, RegExp]>([
  [
    'no signer',
    yaml.replace('  signer_keys: env:SIGNER_KEYS\n', ''),
    /\[0\]\.signer_keys: not set; expected signer_keys, remote_signers or both/,
  ],
  [
    'credentials in the url',
    remote().replace('https://signer', 'https://u:hidden@signer'),
    /remote_signers\.url: .* set token/,
  ],
  ['no url', remote().replace(/ +url: .*\n/, ''), /remote_signers\.url/],
  [
    'an address for a public key',
    remote().replace(publicKey, `0x${'5c'.repeat(20)}`),
    /public_keys\[0\]: expected an uncompressed/,
  ],
  [
    'a compressed public key',
    remote().replace(publicKey, SigningKey.computePublicKey(publicKey, true)),
    /public_keys\[0\]: expected an uncompressed/,
  ],
  [
    'a public key that is no point',
    remote().replace(publicKey, '11'.repeat(64)),
    /public_keys\[0\]: expected an uncompressed/,
  ],
  [
    'a public key twice',
    remote().replace(publicKey, `[${publicKey}, '${publicKey.slice(4)}']`),
    /public_keys: expected each public key once/,
  ],
  ['a token with a space', remote("    token: 'hid den'\n"), /remote_signers\.token: expected visible ASCII/],
  [
    'a long timeout',
    remote('    timeout_ms: 6000\n'),
    /timeout_ms: expected a whole number from 100 to 5000/,
  ],
  ['no such file', remote('    ca_file: /hidden/none.pem\n'), /ca_file: no file can be read there/],
  ['a file that is no PEM', remote(`    ca_file: ${__filename}\n`), /remote_signers: expected PEM files/],
  [
    'half a client certificate',
    remote(`    key_file: ${__filename}\n`),
    /expected certificate_file and key_file together/,
  ],
  [
    'certificates without TLS',
    remote(`    ca_file: ${__filename}\n`).replace('https://signer', 'http://signer'),
    /expected an https:\/\/ url/,
  ],
  ['an unknown member', remote('    other: 1\n'), /remote_signers: .*other/],
  [
    'a remote signer of a Cosmos network',
    cosmos.replace(
      / +signer_keys: .*\n/,
      `  remote_signers: { url: 'https://signer.example', public_keys: ${publicKey} }\n`,
    ),
    /\[0\]\.remote_signers: a remote signer signs Keccak-256 digests, which cosmos chains do not use; give signer_keys/,
  ],
])('refuses a networks file with %s', (_name, file, problem) => {
  const found = problems({}, file)
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(problem)
  expect(found[0]).not.toContain('hid')
})

test('refuses publicly known keys in production', () => {
  const production = { NODE_ENV: 'production', REDIS_URL }
  expect(problems(production)).toEqual([])
  const secret = `development-only-${'s'.repeat(32)}`
  expect(problems({ ...production, JWT_SECRET: secret })).toEqual([expect.stringMatching(/^JWT_SECRET/)])
  expect(problems({ ...production, ADMIN_TOKEN: secret })).toEqual([expect.stringMatching(/^ADMIN_TOKEN/)])
  const anvils = '0xAC0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
  const one = `0x${'1'.padStart(64, '0')}`
  const ours = [...developmentSigners, developmentCosmosSigner].map(({ privateKey }) => privateKey)
  for (const SIGNER_KEYS of [anvils, one, `${key},${anvils}`, ...ours])
    expect(problems({ ...production, SIGNER_KEYS })).toEqual([expect.stringMatching(/everybody knows/)])
  expect(problems({ SIGNER_KEYS: anvils, JWT_SECRET: secret })).toEqual([])
})

describe('in production', () => {
  const production = {
    NODE_ENV: 'production',
    REDIS_URL,
    ADMIN_TOKEN: '72e327ecfb2751ef1c353551ca49005d770117477858beee1c5d49cc95ab47c6',
  }
  const anvilsPublicKey = SigningKey.computePublicKey(
    '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  )
  const publicNode = yaml.replace('https://two.example', 'http://two.example/hidden')

  test.each<[string, NodeJS.ProcessEnv, string, RegExp[]]>([
    [
      'repeated characters',
      { JWT_SECRET: 'hidden'.repeat(9) },
      yaml,
      [/^JWT_SECRET: is easy to guess; .*openssl/],
    ],
    [
      'a well-known word',
      { ADMIN_TOKEN: 'changeme-changeme-changeme-changeme' },
      yaml,
      [/^ADMIN_TOKEN: is easy to guess/],
    ],
    [
      'an ascending sequence',
      { ADMIN_TOKEN: '0123456789abcdef'.repeat(2) },
      yaml,
      [/^ADMIN_TOKEN: is easy to guess/],
    ],
    [
      'one secret for two purposes',
      { ADMIN_TOKEN: variables.JWT_SECRET },
      yaml,
      [/^ADMIN_TOKEN: is the same secret as JWT_SECRET/],
    ],
    [
      'a weak secret that is accepted beside the first one',
      { JWT_SECRET_PREVIOUS: 'hidden'.repeat(9), ADMIN_TOKEN_PREVIOUS: 'changeme'.repeat(5) },
      yaml,
      [/^JWT_SECRET_PREVIOUS: is easy to guess/, /^ADMIN_TOKEN_PREVIOUS: is easy to guess/],
    ],
    ['no Redis', { REDIS_URL: '' }, yaml, [/^REDIS_URL: not set; .* all replicas share/]],
    [
      'a node by http:// on a public host',
      {},
      publicNode,
      [/^NETWORKS_FILE: networks\[0\]\.rpc_urls\[1\]: http:\/\/ to a public host/],
    ],
    [
      'collectors by http:// on public hosts',
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://hidden.example:4318',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://8.8.8.8/hidden',
      },
      yaml,
      [
        /^OTEL_EXPORTER_OTLP_ENDPOINT: http:\/\/ to a public host/,
        /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: http:\/\/ to a public host/,
      ],
    ],
    [
      'a remote signer by http:// on a public host',
      {},
      remote().replace('https://signer', 'http://signer'),
      [/\.remote_signers\.url: http:\/\/ to a public host/],
    ],
    [
      'a signer key of repeated digits',
      { SIGNER_KEYS: '5e'.repeat(32) },
      yaml,
      [/signer_keys of base-sepolia hold a key that is easy to guess/],
    ],
    [
      'a remote signer of a key that everybody knows, with a weak token',
      {},
      remote('    token: a\n').replace(publicKey, anvilsPublicKey),
      [
        /remote_signers\.public_keys\[0\]: its private key is one that everybody knows/,
        /remote_signers\.token: is easy to guess/,
      ],
    ],
    [
      'weak servers on public hosts',
      {
        DATABASE_URL: 'postgresql://user:postgres@db.example/hidden',
        REDIS_URL: 'redis://:hidden@redis.example/0',
      },
      yaml,
      [/^DATABASE_URL: has a password that is easy/, /^REDIS_URL: redis:\/\/ to a public host/],
    ],
    [
      'its own public address by http://',
      { PUBLIC_URL: 'http://facilitator.example/hidden' },
      yaml,
      [/^PUBLIC_URL: http:\/\/ to a public host/],
    ],
    [
      'all of it, at once',
      { REDIS_URL: '', ADMIN_TOKEN: 'a'.repeat(40), SIGNER_KEYS: '11'.repeat(32) },
      publicNode.replace(/ +max_fees_per_day: .*\n/, ''),
      [/^ADMIN_TOKEN/, /^REDIS_URL/, /easy to guess; make/, /rpc_urls/, /max_fees_per_day/],
    ],
  ])('refuses %s, and contains no value', (_name, changes, file, expected) => {
    const found = problems({ ...production, ...changes }, file)
    expect(found).toEqual(expected.map((problem) => expect.stringMatching(problem) as string))
    expect(found.join()).not.toMatch(/hidden|changeme|[0-9a-f]{8}|a{9}/)
    if (changes.REDIS_URL === undefined && changes.SIGNER_KEYS === undefined)
      expect(problems(changes, file)).toEqual([])
  })

  test('refuses a weak networks file also where the mode has a space, and another mode by its name', () => {
    const weak = { SIGNER_KEYS: '5e'.repeat(32) }
    expect(problems({ ...production, ...weak, NODE_ENV: 'production ' })).toEqual([
      expect.stringMatching(/easy to guess/),
    ])
    expect(problems({ ...production, ...weak, NODE_ENV: 'Production' })).toEqual([
      'NODE_ENV: expected production, development or test',
    ])
  })

  test('takes a remote signer with a random token', () => {
    const file = remote('    token: env:TOKEN\n')
    expect(problems({ ...production, TOKEN: otherKey }, file)).toEqual([])
  })

  test.each(['http://127.0.0.1:8545', 'http://10.0.0.5', 'http://erigon.nodes.svc:8545', 'http://geth:8545'])(
    'takes the node %s',
    (url) => expect(problems(production, yaml.replace('https://two.example', url))).toEqual([]),
  )
})

test('requires in production a daily fee limit for each network, and names the setting', () => {
  const production = { NODE_ENV: 'production', REDIS_URL }
  const unlimited = `${yaml}${cosmos}`.replace(/ +max_fees_per_day: .*\n/g, '')
  expect(problems(production, unlimited)).toEqual([
    expect.stringMatching(/^NETWORKS_FILE: networks\[0\]\.max_fees_per_day: not set; .* base-sepolia /),
    expect.stringMatching(/^NETWORKS_FILE: networks\[1\]\.max_fees_per_day: not set; .* cosmoshub-4 /),
  ])
  expect(problems(production, `${yaml}${cosmos}`)).toEqual([])
  expect(problems({}, unlimited)).toEqual([])
})

test('has production-safe defaults for sign-up and fee shares, and rejects unknown values', () => {
  const { environment } = readConfiguration(variables)
  expect(environment).toMatchObject({
    SIGN_UP: 'open',
    NEW_USER_FEE_SHARE_PERCENT: 100,
    ALL_NEW_USERS_FEE_SHARE_PERCENT: 1_000,
    CLIENT_KEY_FEE_SHARE_PERCENT: 5_000,
    RATE_LIMIT_LOGINS_PER_MINUTE: 10,
  })
  expect(problems({ SIGN_UP: 'perhaps' })).toEqual([expect.stringMatching(/^SIGN_UP: expected open, /)])
  expect(readConfiguration({ ...variables, NEW_USER_FEE_SHARE_PERCENT: '0.25' }).environment).toMatchObject({
    NEW_USER_FEE_SHARE_PERCENT: 25,
  })
  for (const share of ['100.01', '101', '-1', '1.234', '1e1', '1,5'])
    expect(problems({ NEW_USER_FEE_SHARE_PERCENT: share })).toEqual([
      expect.stringMatching(/^NEW_USER_FEE_SHARE_PERCENT: expected a percentage/),
    ])
})

test('reads the minimum amount of an asset', () => {
  const file = yaml.replace('decimals: 6 }', 'decimals: 6, min_amount: 250 }')
  writeFileSync(NETWORKS_FILE, file)
  expect(readConfiguration(variables).networks[0]?.assets).toMatchObject([{ minAmount: 250n }])
  for (const amount of ['0', '0.5', '-1'])
    expect(problems({}, file.replace('250', amount))).toEqual([
      expect.stringMatching(/assets\[0\]\.min_amount/),
    ])
})

test('takes networks.example.yaml', () => {
  const path = join(__dirname, '../networks.example.yaml')
  const names = [...readFileSync(path, 'utf8').matchAll(/: env:(\w+)/g)].map(([, name = '']) => name)
  const valueOf = (name: string) =>
    name.includes('KEY') ? randomBytes(32).toString('hex') : 'https://node.example'
  const named = Object.fromEntries(names.map((name) => [name, valueOf(name)]))
  const { networks } = readConfiguration({ ...variables, ...named, NETWORKS_FILE: path })
  expect(networks.map(({ ecosystem }) => ecosystem)).toEqual(['evm', 'cosmos'])
})
