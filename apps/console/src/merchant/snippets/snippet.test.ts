import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { merchant } from '../../texts'
import { frameworks, snippetOf, type Framework, type Offer } from './snippet'

const ROOT = join(__dirname, '../../../../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const offer: Offer = {
  facilitator: 'https://facilitator.example',
  network: 'eip155:84532',
  asset: {
    address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    symbol: 'USDC',
    decimals: 6,
    extra: { name: 'USDC', version: '2' },
  },
  price: '0.01',
  payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
}

/** What the examples read from the environment is written into a snippet. */
const asInExample: Record<Framework, (code: string) => string> = {
  express: (code) =>
    code
      .replace(/const FACILITATOR[^]*?const \{ /, 'const { FACILITATOR, ')
      .replace('TOKEN, PORT', 'TOKEN, PAY_TO, PORT'),
  hono: (code) => asInExample.express(code),
  next: (code) =>
    code
      .replace(/const FACILITATOR[^]*?const \{ /, 'const { FACILITATOR, ')
      .replace('TOKEN }', 'TOKEN, PAY_TO }'),
  fastapi: (code) =>
    code
      .replace(/FACILITATOR = .*\nPAY_TO = .*\n/, 'PAY_TO = os.environ["PAY_TO"]\n')
      .replace('{FACILITATOR}', `{os.environ['FACILITATOR']}`),
}

const examples: Record<Framework, string> = {
  express: 'examples/paid-express/server.mjs',
  hono: 'examples/paid-hono/server.mjs',
  next: 'examples/paid-next/app/weather/route.js',
  fastapi: 'examples/paid-fastapi/server.py',
}

test.each(frameworks)(
  'the snippet for %s is the example that is tested, with the reader’s values',
  (framework) => {
    const { code } = snippetOf(framework, offer)
    expect(code).toContain(offer.facilitator)
    expect(code).toContain(offer.payTo)
    expect(asInExample[framework](code).replace('costs 0.01 USDC', 'costs a cent')).toBe(
      read(examples[framework]),
    )
  },
)

test.each(frameworks)('the versions for %s are those that are tested', (framework) => {
  const { install } = snippetOf(framework, offer)
  // The example also installs the extra for the programs of docs/clients.md.
  const requirements = read('examples/paid-fastapi/requirements.txt').replace('extensions,', '')
  const tested = read('pnpm-workspace.yaml') + requirements
  for (const one of install.split(' ').slice(2)) {
    const [, name = '', version = ''] =
      /^'?(.+?)==?=?([\d.]+)'?$/.exec(one.replace(/@(?=[\d.]+$)/, '==')) ?? []
    expect(tested).toMatch(new RegExp(`${name.replace(/[[\]]/g, '\\$&')}'?(: |==)${version}\n`))
  }
})

test.each(frameworks)(
  'another asset is named with its amount and domain in the snippet for %s',
  (framework) => {
    const extra = { name: "Euro's Coin", version: '1' }
    const asset = { address: `0x${'e'.repeat(40)}`, symbol: 'EURC', decimals: 2, extra }
    const { code } = snippetOf(framework, { ...offer, asset, price: '1.5' })
    expect(code).toContain(asset.address)
    expect(code).toMatch(/amount[:=] ?['"]150['"]/)
    expect(code).toMatch(/name['"]?: ("Euro's Coin"|'Euro\\'s Coin')/)
    expect(code).toMatch(/version['"]?: ['"]1['"]/)
    expect(code).not.toContain('$1.5')
  },
)

const hasPython = spawnSync('python3', ['--version']).status === 0

describe.each(frameworks)('the snippet for %s without a recipient', (framework) => {
  const isPython = framework === 'fastapi'
  /** Its lines between the imports and the client of the facilitator. */
  const start = (payTo: string) => {
    const { code } = snippetOf(framework, { ...offer, payTo })
    const [lines = ''] = /^(const )?FACILITATOR = [^]*?(?=^(const )?key = )/m.exec(code) ?? []
    return isPython
      ? spawnSync('python3', ['-c', `import re\n${lines}`], { encoding: 'utf8' })
      : spawnSync(process.execPath, ['--input-type=module', '-e', lines], { encoding: 'utf8' })
  }
  const testHere = isPython && !hasPython ? test.skip : test

  testHere('stops with a sentence', () => {
    const { status, stderr } = start(merchant.snippets.placeholder)
    expect(status).toBe(1)
    const sentence = 'PAY_TO must be the address that receives payments: 0x and 40 hex digits\n'
    // Next.js shows an error with its stack.
    if (framework === 'next') expect(stderr).toContain(`Error: ${sentence}`)
    else expect(stderr).toBe(sentence)
    expect(start(offer.payTo)).toMatchObject({ status: 0, stderr: '' })
  })
})

test('a quote in a value ends no string', () => {
  expect(snippetOf('express', { ...offer, payTo: `a'b\\` }).code).toContain(`const PAY_TO = 'a\\'b\\\\'`)
})
