import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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
      .replace(/FACILITATOR = .*\nPAY_TO = .*\n/, '')
      .replace('{FACILITATOR}', `{os.environ['FACILITATOR']}`)
      .replace('pay_to=PAY_TO', 'pay_to=os.environ["PAY_TO"]'),
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
  const tested = read('pnpm-workspace.yaml') + read('examples/paid-fastapi/requirements.txt')
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

test('a quote in a value ends no string', () => {
  expect(snippetOf('express', { ...offer, payTo: `a'b\\` }).code).toContain(`const PAY_TO = 'a\\'b\\\\'`)
})
