import { x402V1Networks } from '@tollgate/protocol'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { cosmosPlanOf, planOf, providerOf } from '../testing/catalog'
import { CatalogFile, parseCatalog } from './catalog-file'
import { planRow } from './rows'
import { CatalogError } from './yaml-diagnostics'

const plan = planOf()
const provider = providerOf({ chain_id: '84532', rpc: ['https://node.example'] })

function errorsIn(text: string): string[] {
  try {
    parseCatalog(text)
  } catch (error) {
    expect(error).toBeInstanceOf(CatalogError)
    return (error as Error).message
      .split('\n')
      .slice(1)
      .map((line) => line.trim())
  }
  throw new Error('The catalog was not refused')
}

test('catalog.example.yaml is taken, and has every member', () => {
  const text = readFileSync(join(__dirname, '../../catalog.example.yaml'), 'utf8')
  const example = parse(text) as { plans: object[]; providers: object[] }
  for (const part of ['plans', 'providers'] as const)
    expect(Object.keys(example[part][0] ?? {})).toEqual(Object.keys(CatalogFile.shape[part].element.shape))
  expect(
    parseCatalog(text.replace('REPLACE_WITH_YOUR_ADDRESS', `'${plan.pay_to}'`), { isProduction: true }).plans,
  ).toHaveLength(1)
})

test('in production nodes by http:// on public hosts are refused, each with its place', () => {
  const text = stringify({
    plans: [plan],
    providers: [
      {
        ...provider,
        rpc: ['https://node.example', 'http://node.example/key', 'http://erigon.nodes.svc:8545'],
        rest: ['http://8.8.8.8/key', 'http://10.0.0.1'],
      },
    ],
  })
  expect(parseCatalog(text).providers).toHaveLength(1)
  const read = () => parseCatalog(text, { isProduction: true })
  expect(read).toThrow(
    /providers\[?.?0.*rpc.*1.*http:\/\/ to a public host.*rest.*0.*http:\/\/ to a public host/s,
  )
  expect(read).not.toThrow(/key/)
})

test('a catalog file is read, with defaults for omitted fields', () => {
  expect(parseCatalog(stringify({ plans: [plan], providers: [provider] }))).toEqual({
    plans: [{ ...plan, max_timeout_seconds: 60, transfer_methods: [], active: true }],
    providers: [
      { ...provider, rest: [], headers: {}, description: '', methods: {}, not_served: [], active: true },
    ],
  })
  expect(parseCatalog('plans: &none []\nproviders: *none\n')).toEqual({ plans: [], providers: [] })
})

describe('a catalog file is refused if it', () => {
  test.each([
    ['is empty', '', ['line 1, column 1: the file is empty']],
    ['holds a comment only', '# soon\n', ['line 1, column 1: the file is empty']],
    ['is a list', '[]', ['line 1, column 1: the file: expected object, received array']],
    ['is a word', 'plans', ['line 1, column 1: the file: expected object, received string']],
    ['lacks its providers', 'plans: []\n', ['line 1, column 1: providers: is missing, expected array']],
    [
      'has no list of plans',
      'providers: []\nplans:\n',
      ['line 2, column 7: plans: expected array, received null'],
    ],
    [
      'says a key twice',
      'plans: []\nproviders: []\nplans: []\n',
      ['line 3, column 1: Map keys must be unique'],
    ],
    ['is indented by tabs', 'plans:\n\t- id: 1\n', ['line 2, column 1: Tabs are not allowed as indentation']],
    [
      'is two documents',
      'plans: []\nproviders: []\n---\nplans: []\n',
      ['line 3, column 1: Only one document may be in the file'],
    ],
    ['has a tag', 'plans: !list []\nproviders: []\n', ['line 1, column 8: Unresolved tag: !list']],
    ['has an alias of nothing', 'plans: *x\nproviders: []\n', ['Unresolved alias']],
    ['refers to itself', 'plans: &x [*x]\nproviders: []\n', ['line 1, column 12: plans.0: expected object']],
    [
      'has an unknown member',
      'plans: []\nproviders: []\nprices: []\n__proto__: {}\n',
      [
        'line 3, column 1: prices: is nothing that can be said here',
        'line 4, column 1: __proto__: is nothing that can be said here',
      ],
    ],
  ])('%s', (_, text, expected) => {
    const errors = errorsIn(text)
    expect(errors).toHaveLength(expected.length)
    expected.forEach((part, index) => expect(errors[index]).toContain(part))
  })

  test('is nested too deeply, without delay', () => {
    for (const bomb of ['[', '{', '- ', '? ', 'a: ', '[? ', '{a: '])
      expect(errorsIn(bomb.repeat(50_000))).toEqual([
        expect.stringMatching(/^line 1, column \d+: is nested too deep$/),
      ])
    const steps = Array.from({ length: 100 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')
    expect(errorsIn(steps)).toEqual([expect.stringMatching(/^line \d\d, column \d+: is nested too deep$/)])
  })

  test('contains an alias bomb, without delay', () => {
    const level = (index: number) =>
      `b${index}: &a${index} [${Array(9)
        .fill(`*a${index - 1}`)
        .join(', ')}]`
    const text = ['b0: &a0 [x]', ...Array.from({ length: 12 }, (_, index) => level(index + 1))].join('\n')
    expect(errorsIn(text)).toEqual([expect.stringContaining('has aliases that cannot be followed')])
  })

  test('exceeds the maximum size', () => {
    expect(() => parseCatalog('#'.repeat(300_000))).toThrow('larger than 256 KiB')
  })

  test('has many errors, reported in the order of lines', () => {
    const text = [
      'providers:',
      '  - category: evm',
      '    chain_id: 84532',
      '    rpc: [https://node.example, https://user:secret@node.example]',
      '    weight: 3',
      'plans:',
      '  - id: 1',
      '    id: 2',
      '    asset_address: 0x036CbD53842c5426634e7929541eC2318f3dCF7e',
      ...stringify({ ...plan, id: undefined, asset_address: undefined, credits: 0 })
        .trim()
        .split('\n')
        .map((line) => `    ${line}`),
      `  - ${JSON.stringify({ ...plan, id: 2, pay_to: undefined })}`,
    ].join('\n')
    const errors = errorsIn(text)
    expect(errors).toEqual([
      'line 2, column 5: providers.0.provider_id: is missing, expected string',
      'line 3, column 15: providers.0.chain_id: expected string, received number; put it in quotes',
      'line 4, column 33: providers.0.rpc.1: must hold no user or password; send them by headers',
      'line 5, column 5: providers.0.weight: is nothing that can be said here',
      'line 8, column 5: Map keys must be unique',
      'line 9, column 20: plans.0.asset_address: expected string, received number; put it in quotes',
      `${creditsLine(text)}: plans.0.credits: Too small: expected number to be >=1`,
      expect.stringMatching(/^line 2\d, column 5: plans\.1\.pay_to: is missing, expected string$/) as string,
      expect.stringMatching(/^line 2\d, column 11: plans\.1\.id: is the same plan as plans\.0$/) as string,
    ])
    expect(errors.join()).not.toContain('secret')
  })

  test('has very many errors, in a message of bounded length', () => {
    const errors = errorsIn(
      stringify({ plans: Array(300).fill({}), providers: [] }, { aliasDuplicateObjects: false }),
    )
    expect(errors).toHaveLength(51)
    expect(errors.at(-1)).toMatch(/^and \d+ more$/)
  })
})

const creditsLine = (text: string) => {
  const lines = text.split('\n')
  const index = lines.findIndex((line) => line.trim() === 'credits: 0')
  return `line ${index + 1}, column ${lines[index]!.indexOf('0') + 1}`
}

describe('a plan is refused, at its own line, with', () => {
  test.each([
    ['an amount as a number', { amount: 10000 }],
    ['an amount with an exponent', { amount: '1e4' }],
    ['an amount in hexadecimal', { amount: '0x10' }],
    ['an amount of zero', { amount: '0' }],
    ['an amount below zero', { amount: '-1' }],
    ['an amount of 10^80', { amount: `1${'0'.repeat(80)}` }],
    ['an amount of 2^256', { amount: (2n ** 256n).toString() }],
    ['credits of zero', { credits: 0 }],
    ['credits in parts', { credits: 1.5 }],
    ['an id of zero', { id: 0 }],
    ['an id beyond the database’s', { id: 2 ** 31 }],
    ['an asset that is not an address', { asset_address: '0x12' }],
    ['a recipient that is not an address', { pay_to: 'alice' }],
    ['an asset whose checksum is wrong', { asset_address: plan.asset_address.replace('b', 'B') }],
    ['a recipient whose checksum is wrong', { pay_to: plan.pay_to.replace('C', 'c') }],
    ['a recipient that is the asset', { pay_to: plan.asset_address.toLowerCase() }],
    ['the zero address as recipient', { pay_to: `0x${'0'.repeat(40)}` }],
    ['an unknown ecosystem', { ecosystem: 'solana' }],
    ['an unknown member', { colour: 'red' }],
    ['a timeout of a second', { max_timeout_seconds: 1 }],
    ['a chain that no login can name', { chain_id: '1'.repeat(65) }],
    ['the id of another chain than its network', { chain_id: '8453' }],
    ['the id of its network with a zero in front', { chain_id: '084532' }],
    ['a chain id with a zero in front', { chain_id: '084532', network: 'elsewhere' }],
    ['a chain id in hexadecimal', { chain_id: '0x14a34', network: 'elsewhere' }],
    ['a chain id of CAIP-2', { chain_id: 'eip155:84532', network: 'elsewhere' }],
    ['a chain id past any number of a chain', { chain_id: '1'.repeat(20), network: 'elsewhere' }],
    ['a name of two lines', { plan_name: 'a\nb' }],
    ['a network with a space at its end', { network: 'base ' }],
    ['a text that no database takes', { plan_name: 'a\u0000b' }],
    ['half a character', { plan_name: 'a\ud800b' }],
  ])('%s', (_, changes) => {
    const text = stringify({ plans: [{ ...plan, ...changes }], providers: [provider] })
    const [field = ''] = Object.keys(changes)
    const line = text
      .split('\n')
      .findIndex((candidate) => candidate.trim().replace(/^- /, '').startsWith(`${field}:`))
    expect(errorsIn(text)).toEqual([
      expect.stringMatching(new RegExp(`^line ${line + 1}, column \\d+: plans\\.0\\.${field}: `)),
    ])
  })
})

describe('a plan on a Cosmos chain is refused, at its own line, with', () => {
  const cosmosPlan = cosmosPlanOf()
  test.each([
    ['an asset that is not a denomination', { asset_address: '7up' }],
    ['an asset of an EVM chain', { asset_address: plan.asset_address }],
    ['an asset of two characters', { asset_address: 'ua' }],
    ['a recipient of an EVM chain', { pay_to: plan.pay_to }],
    ['a recipient whose checksum is wrong', { pay_to: cosmosPlan.pay_to.replace('osmo1q', 'osmo1p') }],
    [
      'a recipient of another prefix and the same checksum',
      { pay_to: `cosmos${cosmosPlan.pay_to.slice(4)}` },
    ],
    ['a recipient in letters of both cases', { pay_to: cosmosPlan.pay_to.replace('q', 'Q') }],
    ['a chain id with a space', { chain_id: 'osmosis 1' }],
    ['a chain id of CAIP-2', { chain_id: 'cosmos:osmosis-1' }],
    ['an amount of 2^256', { amount: (2n ** 256n).toString() }],
    ['an amount of zero', { amount: '0' }],
    ['the name of a token’s EIP-712 domain', { asset_name: 'OSMO' }],
    ['the version of a token’s EIP-712 domain', { asset_version: '1' }],
    ['a network that clients take for an EVM chain', { network: 'sei' }],
  ])('%s', (_, changes) => {
    const [field = ''] = Object.keys(changes)
    const text = stringify({ plans: [{ ...cosmosPlan, ...changes }], providers: [] })
    const line = text
      .split('\n')
      .findIndex((candidate) => candidate.trim().replace(/^- /, '').startsWith(`${field}:`))
    expect(errorsIn(text)).toEqual([
      expect.stringMatching(new RegExp(`^line ${line + 1}, column \\d+: plans\\.0\\.${field}: `)),
    ])
  })
})

test('a plan on a Cosmos chain is read with its denomination unchanged and its address in lower case', () => {
  for (const asset_address of [
    'uosmo',
    'ibc/27394FB092D2ECCD56123C74F36E4C1F926001CEADA9CA97EA622B25F41E5EB2',
  ]) {
    const pay_to = cosmosPlanOf().pay_to.toUpperCase()
    const [read] = parseCatalog(
      stringify({ plans: [cosmosPlanOf({ asset_address, pay_to })], providers: [] }),
    ).plans
    expect(planRow(read!)).toMatchObject({
      asset: asset_address,
      payTo: pay_to.toLowerCase(),
      assetName: null,
    })
  }
})

test("a plan's chain must be the one that clients know by its network's name", () => {
  const sold = (changes: object) => stringify({ plans: [{ ...plan, ...changes }], providers: [] })
  for (const [network, chain_id] of [
    ['base', '8453'],
    ['polygon', '137'],
    ['avalanche-fuji', '43113'],
    ...x402V1Networks,
  ] as const) {
    expect(parseCatalog(sold({ network, chain_id })).plans).toHaveLength(1)
    expect(errorsIn(sold({ network, chain_id: `${chain_id}1` }))).toEqual([
      expect.stringContaining(`: plans.0.chain_id: must be '${chain_id}', which is ${network}`),
    ])
  }
  expect(parseCatalog(sold({ network: 'house-chain' })).plans).toHaveLength(1)
})

test('an EVM plan is read with addresses in one letter case and amounts up to the maximum of a uint256', () => {
  const [asset_address, pay_to] = [
    plan.asset_address.toLowerCase(),
    `0x${plan.pay_to.slice(2).toUpperCase()}`,
  ]
  const amount = (2n ** 256n - 1n).toString()
  const text = stringify({ plans: [{ ...plan, asset_address, pay_to, amount }], providers: [] })
  expect(parseCatalog(text).plans).toEqual([expect.objectContaining({ asset_address, pay_to, amount })])
})

describe('a provider is refused with', () => {
  test.each([
    ['an invalid base URL', { rpc: ['node.example'] }, 'rpc.0: must be an address'],
    ['a base URL of another scheme', { rest: ['file:///etc/passwd'] }, 'rest.0: must be an address'],
    ['a user in it', { rpc: ['https://me@node.example'] }, 'rpc.0: must hold no user or password'],
    ['a password in it', { rpc: ['https://:pass@node.example'] }, 'rpc.0: must hold no user or password'],
    ['a fragment in it', { rpc: ['https://node.example/#key'] }, 'rpc.0: must hold no #'],
    ['a space in it', { rpc: ['https://node.example/ a'] }, 'rpc.0: must be an address without spaces'],
    ['a method for nothing', { methods: { eth_call: 0 } }, 'methods.eth_call: Too small'],
    [
      'a method that is a sentence',
      { methods: { 'eth call': 2 } },
      'methods.eth call: must be a method’s name',
    ],
    ['a refused method of no name', { not_served: ['a b'] }, 'not_served.0: must be a method’s name'],
    ['a method of no name', { methods: { '': 2 } }, 'methods.: must be a method’s name'],
    [
      'a method that readers drop',
      { methods: JSON.parse('{ "__proto__": 5, "eth_call": 2 }') as object },
      'methods.__proto__: must be a method’s name',
    ],
    ['an unknown member', { weight: 1 }, 'weight: is nothing that can be said here'],
  ])('%s', (_, changes, problem) => {
    const errors = errorsIn(stringify({ plans: [plan], providers: [{ ...provider, ...changes }] }))
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain(`: providers.0.${problem}`)
  })

  test('the key, category and chain of another', () => {
    const text = stringify({ plans: [], providers: [provider, { ...provider, rpc: [] }] })
    expect(errorsIn(text)).toEqual([
      expect.stringMatching(
        /^line \d+, column \d+: providers\.1\.provider_id: is the same provider as providers\.0$/,
      ),
    ])
    const elsewhere = { ...provider, chain_id: '1' }
    expect(parseCatalog(stringify({ plans: [], providers: [provider, elsewhere] })).providers).toHaveLength(2)
  })
})
