import { AbiCoder, hexlify, Interface, randomBytes } from 'ethers'
import { readArtifacts } from './artifacts'
import { callRpc } from './rpc'
import { developmentSigners, developmentWallets } from './wallets'

const artifacts = readArtifacts()

/** The address of USDC on Base Sepolia. */
export const USDC_ADDRESS = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
/** Its address on every public chain. */
export const MULTICALL3_ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Its address on every public chain. */
export const PERMIT2_ADDRESS = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
/** The address of x402's proxy for Permit2 payments. */
export const X402_PERMIT2_PROXY_ADDRESS = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'
/** The address of Coinbase's factory of contract wallets (version 1.1) on every public chain. */
export const COINBASE_WALLET_FACTORY_ADDRESS = '0xBA5ED110eFDBa3D005bfC882d75358ACBbB85842'

export const usdcAbi: readonly string[] = artifacts.USDC.abi
export const multicall3Abi: readonly string[] = artifacts.Multicall3.abi
export const permit2Abi: readonly string[] = artifacts.Permit2.abi

const usdc = new Interface(usdcAbi)
const multicall3 = new Interface(multicall3Abi)
const ETHER = 10n ** 18n
const WALLET_WEI = 100n * ETHER
const WALLET_USDC = 10_000n * 10n ** 6n

/** Places our contracts at the addresses that clients expect. Idempotent: keeps identical code and its balances. */
export async function deployContracts(rpcUrl: string): Promise<void> {
  const wanted = [
    [USDC_ADDRESS, artifacts.USDC.deployedBytecode],
    [MULTICALL3_ADDRESS, artifacts.Multicall3.deployedBytecode],
    [PERMIT2_ADDRESS, artifacts.Permit2.deployedBytecode],
    [X402_PERMIT2_PROXY_ADDRESS, artifacts.X402ExactPermit2Proxy.deployedBytecode],
    [COINBASE_WALLET_FACTORY_ADDRESS, artifacts.CoinbaseSmartWalletFactory.deployedBytecode],
  ] as const
  for (const [address, code] of wanted) {
    const present = await callRpc(rpcUrl, 'eth_getCode', address, 'latest')
    if (present !== code) await callRpc(rpcUrl, 'anvil_setCode', address, code)
  }
}

/** Funds the development wallets with 100 ETH and 10,000 USDC and the signers with 100 ETH if they hold less than a tenth. */
export async function fundWallets(rpcUrl: string): Promise<void> {
  const everyone = [...developmentWallets, ...developmentSigners]
  await Promise.all(
    everyone.map(async ({ address }) => {
      const held = BigInt((await callRpc(rpcUrl, 'eth_getBalance', address, 'latest')) as string)
      if (held < WALLET_WEI / 10n) await setBalance(rpcUrl, address, WALLET_WEI)
    }),
  )
  const held = await Promise.all(developmentWallets.map(({ address }) => usdcBalance(rpcUrl, address)))
  const poor = developmentWallets.flatMap(({ address }, i) => {
    const balance = held[i] ?? 0n
    return balance < WALLET_USDC / 10n ? [{ to: address, value: WALLET_USDC - balance }] : []
  })
  await mint(rpcUrl, poor)
}

/** Adds USDC (in its smallest unit) and wei to the balance of an address. */
export async function fundWallet(
  rpcUrl: string,
  address: string,
  { usdc: value, wei }: { usdc: bigint; wei?: bigint },
) {
  if (wei !== undefined) {
    const held = BigInt((await callRpc(rpcUrl, 'eth_getBalance', address, 'latest')) as string)
    await setBalance(rpcUrl, address, held + wei)
  }
  await mint(rpcUrl, [{ to: address, value }])
}

/** Deploys a contract wallet that accepts the signatures of `owner` (EIP-1271); returns its address. */
export async function deploySmartWallet(rpcUrl: string, owner: string): Promise<string> {
  const argument = AbiCoder.defaultAbiCoder().encode(['address'], [owner]).slice(2)
  const { contractAddress } = await send(rpcUrl, { data: artifacts.SmartWallet.bytecode + argument })
  return contractAddress
}

/** The USDC balance of an address, in its smallest unit. */
async function usdcBalance(rpcUrl: string, address: string) {
  const data = usdc.encodeFunctionData('balanceOf', [address])
  return BigInt((await callRpc(rpcUrl, 'eth_call', { to: USDC_ADDRESS, data }, 'latest')) as string)
}

/** All in one transaction. */
async function mint(rpcUrl: string, grants: { to: string; value: bigint }[]) {
  if (grants.length === 0) return
  const calls = grants.map(({ to, value }) => [
    USDC_ADDRESS,
    false,
    usdc.encodeFunctionData('mint', [to, value]),
  ])
  await send(rpcUrl, { to: MULTICALL3_ADDRESS, data: multicall3.encodeFunctionData('aggregate3', [calls]) })
}

/** Sends and waits until mined, by default from a new impersonated account, so that concurrent callers share no nonce. */
export async function send(
  rpcUrl: string,
  transaction: { to?: string; data: string },
  from = hexlify(randomBytes(20)),
) {
  await callRpc(rpcUrl, 'anvil_impersonateAccount', from)
  await setBalance(rpcUrl, from, ETHER)
  const receipt = (await callRpc(rpcUrl, 'eth_sendTransactionSync', { from, ...transaction })) as {
    status: string
    contractAddress: string
  }
  await callRpc(rpcUrl, 'anvil_stopImpersonatingAccount', from)
  if (receipt.status !== '0x1')
    throw new Error('The development chain refused to fund a wallet: start with fresh state')
  return receipt
}

function setBalance(rpcUrl: string, address: string, wei: bigint) {
  return callRpc(rpcUrl, 'anvil_setBalance', address, `0x${wei.toString(16)}`)
}
