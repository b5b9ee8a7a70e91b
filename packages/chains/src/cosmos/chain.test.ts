import { createChain } from './chain'
import { cosmos } from './family'
import { openVerifying, type Verifying } from './testing/verifying'

let verifying: Verifying
beforeAll(async () => {
  verifying = await openVerifying()
})
afterAll(() => verifying.close())

const key = `0x${'5d'.repeat(32)}`

describe('connect', () => {
  test('an error of a setting says what to do, without the key or the URL', () => {
    const problem = (changes: NonNullable<Parameters<Verifying['connect']>[0]>) => {
      try {
        verifying.connect(changes)
        return undefined
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(problem({ signerKeys: ['0xab'] })).toBe('The signer key is not a private key: give 64 hex digits')
    for (const none of [`0x${'0'.repeat(64)}`, `0x${'f'.repeat(64)}`])
      expect(problem({ signerKeys: [none] })).toBe('The signer key is not a private key: give 64 hex digits')
    expect(problem({ signerKeys: [key, `0x${'5e'.repeat(32)}`] })).toContain('at most one signer key')
    expect(problem({ signerKeys: [] })).toContain('give a signer key')
    expect(problem({ signerKeys: [], paysOwnFees: true })).toBeUndefined()
    expect(problem({ rpcUrls: [] })).toContain('at least one RPC URL')
    expect(problem({ rpcUrls: ['ftp://secret'] })).toContain('at least one RPC URL')
    expect(problem({ rpcUrls: ['ftp://secret'] })).not.toContain('secret')
    for (const chainId of ['', ' ', 'cosmoshub 4', 'x'.repeat(51), '-1', '../x'])
      expect(problem({ chainId })).toContain('is not a chain id')
  })

  test('requires a daily fee limit if we pay fees', () => {
    const { maxFeesPerDay, ...settings } = verifying.settings
    expect(maxFeesPerDay).toBeDefined()
    expect(() => createChain(settings)).toThrow('the maximum fees that the facilitator pays in a day')
  })

  test('has a fee payer if we pay fees', async () => {
    const { connect, world } = verifying
    const { address } = world.signer
    const gasless = connect()
    expect([gasless.signer.addresses, gasless.signer.feePayer]).toEqual([[address], address])
    expect(gasless.signer.balanceThreshold).toBeGreaterThan(0n)
    expect(gasless.payments.sponsorship).toBeDefined()
    const plain = connect({ paysOwnFees: true })
    expect([plain.signer.addresses, plain.signer.feePayer, plain.signer.balanceThreshold]).toEqual([
      [address],
      undefined,
      0n,
    ])
    expect(plain.payments.sponsorship).toBeUndefined()
    expect(await gasless.payments.extensions()).toEqual([])

    expect([await gasless.signer.funds(address), await gasless.signer.nextNonce(address)]).toEqual([0n, 0n])
    await world.fund(address, 7n)
    expect(await gasless.signer.funds(address)).toBe(7n)
  })

  test('accepts keys with and without 0x, and derives the address of wallets', () => {
    const { connect } = verifying
    const [one, other] = [key, key.slice(2)].map((signerKey) => connect({ signerKeys: [signerKey] }))
    expect(one?.signer.addresses).toEqual(other?.signer.addresses)
    const osmosis = connect({ signerKeys: [key], prefix: 'osmo' })
    expect(osmosis.signer.addresses[0]).toMatch(/^osmo1[a-z0-9]{38}$/)
  })

  test('signs with its own key only', async () => {
    const chain = verifying.connect()
    const from = { signer: verifying.payer.address, nonce: 0n }
    await expect(chain.signer.prepare([], from)).rejects.toThrow('is not a signer of')
    const unsigned = { signer: from.signer, bytes: new Uint8Array(), cost: 0n }
    await expect(chain.signer.sign(unsigned)).rejects.toThrow('is not a signer of')
  })
})

describe('the family', () => {
  test('parses chain ids and denominations, in one spelling only', () => {
    for (const id of ['cosmoshub-4', 'osmosis-1', 'injective-1', 'dymension_1100-1', 'celestia'])
      expect(cosmos.isChainId(id)).toBe(true)
    for (const id of ['', 'a b', '/x', 'é', 'x'.repeat(51)]) expect(cosmos.isChainId(id)).toBe(false)
    const ibc = `ibc/${'AB'.repeat(32)}`
    for (const denom of ['uatom', ibc, 'factory/cosmos1x/sub.denom'])
      expect(cosmos.parseAsset(denom)).toBe(denom)
    for (const text of ['', 'ua', '1uatom', 'u atom', 'x'.repeat(129)])
      expect(cosmos.parseAsset(text)).toBeUndefined()
  })

  test('refuses the second name of a balance that an EVM network has', () => {
    const usdc = '0xa00C59fF5a080D2b954d0c75e46E22a0c371235a'
    for (const denom of [`erc20:${usdc}`, `erc20:${usdc.toLowerCase()}`, `erc20/${usdc}`, `ERC20:${usdc}`])
      expect(cosmos.parseAsset(denom)).toBeUndefined()
    expect(cosmos.parseAsset('inj')).toBe('inj')
  })

  test('parses its members of a configuration, and refuses others', () => {
    const given = { bech32_prefix: 'cosmos', fee_denom: 'uatom', gas_price: '0.025' }
    const read = { prefix: 'cosmos', feeDenom: 'uatom', gasPrice: 25n * 10n ** 15n }
    expect(cosmos.configuration.parse(given)).toEqual(read)
    expect(cosmos.configuration.parse({ ...given, gasless_max_fee: '7' })).toEqual({
      ...read,
      gaslessMaxFee: 7n,
    })
    for (const wrong of [
      { ...given, gas_price: '-1' },
      { ...given, gas_price: '1e3' },
      { ...given, fee_denom: 'u' },
      { ...given, bech32_prefix: 'Cosmos' },
      { ...given, gasless_max_fee: '0' },
      { ...given, max_fee_per_gas: '1' },
      { fee_denom: 'uatom', gas_price: '1' },
    ])
      expect(cosmos.configuration.safeParse(wrong).success).toBe(false)
  })
})
