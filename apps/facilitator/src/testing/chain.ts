import { deployContracts, startAnvil, USDC_ADDRESS, type AnvilOptions } from '@tollgate/devnet'
import { closeLater } from '@tollgate/testing'
import { hexlify, id, randomBytes, Wallet } from 'ethers'

const ETHER = 10n ** 18n

export function sharedChain(): string {
  const url = process.env.TEST_EVM_RPC_URL
  if (!url) throw new Error('TEST_EVM_RPC_URL is not set: run the tests from the root of the repository')
  return url
}

export async function ownChain(options: AnvilOptions = {}) {
  const chain = await startAnvil(options)
  closeLater(() => chain.stop())
  await deployContracts(chain.rpcUrl)
  return chain
}

export async function callRpc(rpcUrl: string, method: string, ...params: unknown[]): Promise<unknown> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

const hex = (value: bigint) => `0x${value.toString(16)}`

/** Sixteen times cheaper than `Wallet.createRandom()`, which derives the key from a phrase. */
const newWallet = () => new Wallet(hexlify(randomBytes(32)))

/** Amount in the smallest unit; 1,000 USDC by default. The wallet has no ether. */
export async function newPayer(rpcUrl: string, usdc = 1_000_000_000n): Promise<Wallet> {
  const wallet = newWallet()
  await callRpc(rpcUrl, 'anvil_dealERC20', wallet.address, USDC_ADDRESS, hex(usdc))
  return wallet
}

/** An own settlement key with ether: two databases must never share a signer. */
export async function newSigner(rpcUrl: string): Promise<Wallet> {
  const wallet = newWallet()
  await callRpc(rpcUrl, 'anvil_setBalance', wallet.address, hex(10n * ETHER))
  return wallet
}

export const transactionCount = async (rpcUrl: string, address: string): Promise<number> =>
  Number(await callRpc(rpcUrl, 'eth_getTransactionCount', address, 'latest'))

type Transfer = { from: string; to: string; value: bigint; transaction: string }
type Log = { topics: [string, string, string]; data: string; transactionHash: string }

export async function transfersFrom(rpcUrl: string, address: string): Promise<Transfer[]> {
  const from = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
  const filter = {
    address: USDC_ADDRESS,
    fromBlock: '0x0',
    topics: [id('Transfer(address,address,uint256)'), from],
  }
  const logs = (await callRpc(rpcUrl, 'eth_getLogs', filter)) as Log[]
  return logs.map(({ topics, data, transactionHash }) => ({
    from: `0x${topics[1].slice(26)}`,
    to: `0x${topics[2].slice(26)}`,
    value: BigInt(data),
    transaction: transactionHash,
  }))
}
