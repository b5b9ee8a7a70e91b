import {
  Contract,
  hexlify,
  id,
  JsonRpcProvider,
  MaxUint256,
  randomBytes,
  TypedDataEncoder,
  Wallet,
} from 'ethers'
import { readArtifacts } from './artifacts'
import {
  fundWallet,
  PERMIT2_ADDRESS,
  permit2Abi,
  USDC_ADDRESS,
  usdcAbi,
  X402_PERMIT2_PROXY_ADDRESS,
} from './deploy'

const rpcUrl = process.env['TEST_EVM_RPC_URL'] ?? ''
const provider = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 50 })
const errors = permit2Abi.filter((line) => line.startsWith('error'))
const proxyAbi = [...readArtifacts().X402ExactPermit2Proxy.abi, ...errors.slice(1)]
const permit2 = new Contract(PERMIT2_ADDRESS, permit2Abi, provider)
const proxy = new Contract(X402_PERMIT2_PROXY_ADDRESS, proxyAbi, provider)
afterAll(() => provider.destroy())
jest.setTimeout(30_000)

const DOMAIN = { name: 'Permit2', chainId: 84532, verifyingContract: PERMIT2_ADDRESS }
const TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
}
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

let payer: Wallet
beforeAll(async () => {
  payer = new Wallet(Wallet.createRandom().privateKey, provider)
  await fundWallet(rpcUrl, payer.address, { usdc: 10n, wei: 10n ** 18n })
  const approve = new Contract(USDC_ADDRESS, usdcAbi, payer).getFunction('approve')
  await (await approve.send(PERMIT2_ADDRESS, MaxUint256)).wait()
})

async function transfer({ deadline = inSeconds(60), validAfter = 0, amount = 3n } = {}) {
  const permit = { permitted: { token: USDC_ADDRESS, amount }, nonce: hexlify(randomBytes(32)), deadline }
  const witness = { to: Wallet.createRandom().address, validAfter }
  const message = { ...permit, spender: X402_PERMIT2_PROXY_ADDRESS, witness }
  return { permit, witness, signature: await payer.signTypedData(DOMAIN, TYPES, message) }
}
type Transfer = Awaited<ReturnType<typeof transfer>>

const settle = ({ permit, witness, signature }: Transfer, how: 'send' | 'staticCall' = 'staticCall') =>
  new Contract(X402_PERMIT2_PROXY_ADDRESS, proxyAbi, payer)
    .getFunction('settle')
    [how](permit, payer.address, witness, signature) as Promise<unknown>

test('Permit2 and the proxy at their addresses are what clients sign for', async () => {
  expect(await permit2.getFunction('DOMAIN_SEPARATOR')()).toBe(TypedDataEncoder.hashDomain(DOMAIN))
  expect(await proxy.getFunction('PERMIT2')()).toBe(PERMIT2_ADDRESS)
  expect(await proxy.getFunction('WITNESS_TYPEHASH')()).toBe(id('Witness(address to,uint256 validAfter)'))
  const type = TypedDataEncoder.from(TYPES).encodeType('PermitWitnessTransferFrom')
  expect(type).toContain((await proxy.getFunction('WITNESS_TYPE_STRING')()) as string)
})

test('a transfer is taken once, and with a compact signature too', async () => {
  const signed = await transfer()
  const bytes = Buffer.from(signed.signature.slice(2, 130), 'hex')
  if (signed.signature.endsWith('1c')) bytes.writeUInt8(bytes.readUInt8(32) | 0x80, 32)
  await settle({ ...signed, signature: hexlify(bytes) })
  const sent = (await settle(signed, 'send')) as { wait(): Promise<unknown> }
  await sent.wait()
  await expect(settle(signed)).rejects.toThrow('InvalidNonce')
})

test.each<[string, string, () => Promise<Transfer>]>([
  [
    'sent elsewhere',
    'InvalidSigner',
    async () => ({ ...(await transfer()), witness: { to: payer.address, validAfter: 0 } }),
  ],
  ['too late', 'SignatureExpired', () => transfer({ deadline: inSeconds(-60) })],
  ['too early', 'PaymentTooEarly', () => transfer({ validAfter: inSeconds(60) })],
  ['of nothing', 'InvalidAmount', () => transfer({ amount: 0n })],
  [
    'with a signature of another length',
    'InvalidSignatureLength',
    async () => ({ ...(await transfer()), signature: '0x12' }),
  ],
])('a transfer %s is not taken', async (_, error, made) => {
  await expect(settle(await made())).rejects.toThrow(error)
})
