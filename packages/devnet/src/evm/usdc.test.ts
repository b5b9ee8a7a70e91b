import {
  type BaseContractMethod,
  Contract,
  hexlify,
  JsonRpcProvider,
  randomBytes,
  type Signer,
  TypedDataEncoder,
  Wallet,
} from 'ethers'
import { compileContracts } from './compile'
import { readArtifacts } from './artifacts'
import {
  deploySmartWallet,
  fundWallet,
  fundWallets,
  MULTICALL3_ADDRESS,
  multicall3Abi,
  USDC_ADDRESS,
  usdcAbi,
} from './deploy'
import { developmentPayTo, developmentSigners, developmentWallets } from './wallets'

const rpcUrl = process.env['TEST_EVM_RPC_URL'] ?? ''
const provider = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 50 })
const anyone = new Wallet(developmentSigners[1]!.privateKey, provider)
const usdcBy = (signer: Signer) => new Contract(USDC_ADDRESS, [...usdcAbi], signer)
const usdc = usdcBy(anyone)
const multicall3 = new Contract(MULTICALL3_ADDRESS, [...multicall3Abi], anyone)
afterAll(() => provider.destroy())
jest.setTimeout(30_000)

const DOMAIN = { name: 'USDC', version: '2', chainId: 84532, verifyingContract: USDC_ADDRESS }
const FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]
const CANCEL = {
  CancelAuthorization: [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ],
}
const PERMIT = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
}

const now = () => Math.floor(Date.now() / 1000)
const balance = (address: string) => usdc['balanceOf']!(address) as Promise<bigint>
const method = (signature: string) => usdc.getFunction(signature)
const transferBytes = method(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
)
const transferVrs = method(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
)
const send = async (call: BaseContractMethod, ...args: unknown[]) => {
  await (await call.send(...args)).wait()
}
const processes = (signature: string) => {
  const hex = signature.slice(2)
  return [Number.parseInt(hex.slice(128), 16), `0x${hex.slice(0, 64)}`, `0x${hex.slice(64, 128)}`]
}

/** A new wallet with ten USDC, and its authorization of three USDC to an empty address. */
async function payment(
  change: Partial<Record<'validAfter' | 'validBefore' | 'value', number>> = {},
  type = 'Transfer',
) {
  const payer = Wallet.createRandom()
  await fundWallet(rpcUrl, payer.address, { usdc: 10_000_000n })
  const message = {
    from: payer.address,
    to: Wallet.createRandom().address,
    value: 3_000_000,
    validAfter: now() - 600,
    validBefore: now() + 60,
    nonce: hexlify(randomBytes(32)),
    ...change,
  }
  const signature = await payer.signTypedData(DOMAIN, { [`${type}WithAuthorization`]: FIELDS }, message)
  const { from, to, value, validAfter, validBefore, nonce } = message
  return { payer, ...message, fields: [from, to, value, validAfter, validBefore, nonce], signature }
}

const overloads = [
  ['bytes', transferBytes, (signature: string) => [signature]],
  ['v, r, s', transferVrs, processes],
] as const

describe('USDC at the address of Base Sepolia', () => {
  test('calls itself what clients sign', async () => {
    const facts = ['name', 'symbol', 'version', 'decimals', 'DOMAIN_SEPARATOR']

    expect(await Promise.all(facts.map((fact) => method(fact)()))).toEqual([
      'USDC',
      'USDC',
      '2',
      6n,
      TypedDataEncoder.hashDomain(DOMAIN),
    ])
  })

  test.each(overloads)(
    'moves exactly the value, once, by an authorization with %s',
    async (_, transfer, encode) => {
      const { payer, to, nonce, fields, signature } = await payment()
      expect(await usdc['authorizationState']!(payer.address, nonce)).toBe(false)

      await send(transfer, ...fields, ...encode(signature))

      expect([await balance(payer.address), await balance(to)]).toEqual([7_000_000n, 3_000_000n])
      expect(await usdc['authorizationState']!(payer.address, nonce)).toBe(true)
      for (const [, again, form] of overloads)
        await expect(again.staticCall(...fields, ...form(signature))).rejects.toThrow(
          'authorization is used or canceled',
        )
      expect(await balance(to)).toBe(3_000_000n)
    },
  )

  test.each([
    ['before its time', { validAfter: now() + 600 }, 'authorization is not yet valid'],
    ['after its time', { validBefore: now() - 600 }, 'authorization is expired'],
    ['of more than the payer has', { value: 10_000_001 }, 'transfer amount exceeds balance'],
  ])('refuses an authorization %s', async (_, change, reason) => {
    const { fields, signature } = await payment(change)

    await expect(transferBytes.staticCall(...fields, signature)).rejects.toThrow(reason)
  })

  test('refuses what was changed after it was signed, and the twin of a signature', async () => {
    const { fields, signature } = await payment()
    const [v, r, s] = processes(signature) as [number, string, string]
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const twin = `0x${(order - BigInt(s)).toString(16).padStart(64, '0')}`
    const more = fields.map((field, i) => (i === 2 ? 3_000_001 : field))

    await expect(transferBytes.staticCall(...more, signature)).rejects.toThrow('invalid signature')
    await expect(transferVrs.staticCall(...fields, 55 - v, r, twin)).rejects.toThrow('invalid signature')
    await expect(transferVrs.staticCall(...fields, v - 27, r, s)).rejects.toThrow('invalid signature')
  })

  test('refuses an authorization that its wallet cancelled', async () => {
    const { payer, nonce, fields, signature } = await payment()
    const cancel = await payer.signTypedData(DOMAIN, CANCEL, { authorizer: payer.address, nonce })

    const call = method('cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)')
    await send(call, payer.address, nonce, ...processes(cancel))

    await expect(transferBytes.staticCall(...fields, signature)).rejects.toThrow(
      'authorization is used or canceled',
    )
  })

  test('gives a received authorization to its payee only', async () => {
    const { from, value, validAfter, validBefore, nonce, payer } = await payment()
    const message = { from, to: anyone.address, value, validAfter, validBefore, nonce }
    const signature = await payer.signTypedData(DOMAIN, { ReceiveWithAuthorization: FIELDS }, message)
    const receive = (by: Signer) =>
      usdcBy(by).getFunction(
        'receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
      )
    const call = [...Object.values(message), ...processes(signature)]
    const other = new Wallet(developmentWallets[9]!.privateKey, provider)
    await expect(receive(other).staticCall(...call)).rejects.toThrow('caller must be the payee')

    const before = await balance(anyone.address)
    await send(receive(anyone), ...call)

    expect((await balance(anyone.address)) - before).toBe(3_000_000n)
  })

  test('takes the signature of a wallet that is a contract, and only of its owner', async () => {
    const owner = Wallet.createRandom()
    const from = await deploySmartWallet(rpcUrl, owner.address)
    await fundWallet(rpcUrl, from, { usdc: 10_000_000n })
    const { to, value, validAfter, validBefore, nonce } = await payment()
    const message = { from, to, value, validAfter, validBefore, nonce }
    const types = { TransferWithAuthorization: FIELDS }
    const forged = await Wallet.createRandom().signTypedData(DOMAIN, types, message)
    await expect(transferBytes.staticCall(...Object.values(message), forged)).rejects.toThrow(
      'invalid signature',
    )

    const signature = await owner.signTypedData(DOMAIN, types, message)
    await send(transferBytes, ...Object.values(message), signature)

    expect([await balance(from), await balance(to)]).toEqual([7_000_000n, 3_000_000n])
  })

  test('gives an allowance by permit, once', async () => {
    const { payer } = await payment()
    const permit = { owner: payer.address, spender: anyone.address, value: 5, nonce: 0, deadline: now() + 60 }
    const signature = await payer.signTypedData(DOMAIN, PERMIT, permit)
    const call = method('permit(address,address,uint256,uint256,uint8,bytes32,bytes32)')
    const args = [permit.owner, permit.spender, permit.value, permit.deadline, ...processes(signature)]

    await send(call, ...args)

    expect(await usdc['allowance']!(payer.address, anyone.address)).toBe(5n)
    await expect(call.staticCall(...args)).rejects.toThrow('invalid signature')
  })
})

describe('Multicall3', () => {
  test('does the others when one call fails, and says which', async () => {
    const [good, bad, last] = [await payment(), await payment({ value: 10_000_001 }), await payment()]
    const calls = [good, bad, last].map(({ fields, signature }) => [
      USDC_ADDRESS,
      true,
      usdc.interface.encodeFunctionData(transferBytes.fragment, [...fields, signature]),
    ])
    const results = (await multicall3['aggregate3']!.staticCall(calls)) as { success: boolean }[]

    await send(multicall3.getFunction('aggregate3'), calls)

    expect(results.map(({ success }) => success)).toEqual([true, false, true])
    expect(await Promise.all([good, bad, last].map(({ to }) => balance(to)))).toEqual([
      3_000_000n,
      0n,
      3_000_000n,
    ])
  })

  test('undoes all of them when one fails that may not', async () => {
    const [good, bad] = [await payment(), await payment({ value: 10_000_001 })]
    const call = ({ fields, signature }: typeof good) =>
      usdc.interface.encodeFunctionData(transferBytes.fragment, [...fields, signature])
    const calls = [
      [USDC_ADDRESS, true, call(good)],
      [USDC_ADDRESS, false, call(bad)],
    ]

    await expect(multicall3['aggregate3']!.staticCall(calls)).rejects.toThrow('Multicall3: call failed')
    await expect(
      multicall3['tryAggregate']!.staticCall(
        true,
        calls.map(([target, , data]) => [target, data]),
      ),
    ).rejects.toThrow('Multicall3: call failed')
  })

  test('passes wei on, exactly as much as it was given', async () => {
    const to = Wallet.createRandom().address
    const calls = [[to, false, 5n, '0x']]
    await expect(multicall3['aggregate3Value']!.staticCall(calls, { value: 6n })).rejects.toThrow(
      'value mismatch',
    )

    await send(multicall3.getFunction('aggregate3Value'), calls, { value: 5n })

    expect(await multicall3['getEthBalance']!(to)).toBe(5n)
    const blockTag = await provider.getBlockNumber()
    expect(await multicall3['getBlockNumber']!({ blockTag })).toBe(BigInt(blockTag))
  })
})

describe('development wallets', () => {
  test('are ten with money, two signers with ether, and a payee that nothing was given to', async () => {
    await fundWallets(rpcUrl)

    expect(developmentWallets).toHaveLength(10)
    for (const { address, privateKey } of developmentWallets) {
      expect(new Wallet(privateKey).address).toBe(address)
      expect(await balance(address)).toBeGreaterThanOrEqual(1_000_000_000n)
    }
    for (const { address } of [...developmentWallets, ...developmentSigners])
      expect(await provider.getBalance(address)).toBeGreaterThanOrEqual(10n ** 19n)
    const everyone = [...developmentWallets, ...developmentSigners, developmentPayTo].map(
      ({ address }) => address,
    )
    expect(new Set(everyone).size).toBe(13)
  })

  test('are topped up when they run low, and only then', async () => {
    const [rich, poor] = [developmentWallets[7]!, developmentWallets[8]!]
    const before = await balance(rich.address)
    const spender = new Wallet(poor.privateKey, provider)
    await send(usdcBy(spender).getFunction('transfer'), anyone.address, await balance(poor.address))

    await fundWallets(rpcUrl)

    expect([await balance(rich.address), await balance(poor.address)]).toEqual([before, 10_000_000_000n])
  })
})

test('the compiled contracts in the repository are those of its sources', () => {
  expect(compileContracts()).toEqual(readArtifacts())
})
