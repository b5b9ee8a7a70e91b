import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { deployContracts, developmentSigners, fundWallet, startAnvil, USDC_ADDRESS } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { request } from 'undici'
import { type BenchmarkContext } from '../benchmark'
import { createPaymentSigner } from '../payment-signer'

export type PaymentChain = Awaited<ReturnType<typeof openPaymentChain>>

export const CHAIN_ID = '84532'
/** The signature validator that x402-rs requires at its start; key signatures do not use it. */
const X402_RS_VALIDATOR = '0xdAcD51A54883eb67D95FAEb2BBfdC4a9a6BD2a3B'
const STOP = '0x00'
const PAYER_USDC = 1_000_000_000n
const PAYMENT_USDC = '1000'
const SIGNER_WEI = 1_000n * 10n ** 18n
const FUNDED_AT_ONCE = 50
/** Ethereum's; that of its rollups is higher. */
const BLOCK_GAS = 60_000_000

/** An anvil with the contracts of x402, funded payers, and one signer for each contender. */
export async function openPaymentChain(
  { folder, closeLater }: Pick<BenchmarkContext, 'folder' | 'closeLater'>,
  { payers: count, blockSeconds }: { payers: number; blockSeconds?: number },
) {
  const starting = startAnvil({
    folder: join(folder, 'anvil'),
    ...(blockSeconds === undefined ? {} : { blockTime: blockSeconds }),
  })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const anvil = await starting
  const { rpcUrl } = anvil
  await callNode(rpcUrl, 'evm_setBlockGasLimit', `0x${BLOCK_GAS.toString(16)}`)
  await anvil.setPace('at-once')
  await deployContracts(rpcUrl)
  await callNode(rpcUrl, 'anvil_setCode', X402_RS_VALIDATOR, STOP)

  const payers = Array.from({ length: count }, newWallet)
  const payTo = newWallet()
  const [own, reference] = developmentSigners
  if (!own || !reference) throw new Error('There are no development signers')
  const signers = {
    tollgate: own.privateKey,
    reference: reference.privateKey,
    x402Rs: newWallet().privateKey,
  }
  // One unit: the first payment to an empty account would cost more than the others.
  const funded = [
    ...payers.map(({ address }) => ({ address, usdc: PAYER_USDC })),
    { address: payTo.address, usdc: 1n },
  ]
  for (let first = 0; first < funded.length; first += FUNDED_AT_ONCE)
    await Promise.all(
      funded
        .slice(first, first + FUNDED_AT_ONCE)
        .map(({ address, usdc }) => fundWallet(rpcUrl, address, { usdc })),
    )
  for (const key of Object.values(signers))
    await callNode(rpcUrl, 'anvil_setBalance', new Wallet(key).address, `0x${SIGNER_WEI.toString(16)}`)
  if (blockSeconds !== undefined) await anvil.setPace('by-interval')
  const payment = createPaymentSigner({
    network: 'base-sepolia',
    chain_id: CHAIN_ID,
    asset_address: USDC_ADDRESS,
    asset_name: 'USDC',
    asset_version: '2',
    pay_to: payTo.address,
    amount: PAYMENT_USDC,
  })

  return {
    rpcUrl,
    pid: anvil.pid,
    asset: USDC_ADDRESS,
    signers,
    /** Bodies of `/verify` and `/settle` of x402 version 2: payments of each payer in turn. */
    signPayments: (count: number): string[] =>
      Array.from({ length: Math.ceil(count / payers.length) }, () => payers)
        .flat()
        .slice(0, count)
        .map(payment.bodyV2),
  }
}

const newWallet = () => new Wallet(`0x${randomBytes(32).toString('hex')}`)

export async function callNode<T>(rpcUrl: string, method: string, ...params: unknown[]): Promise<T> {
  const { body } = await request(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await body.json()) as { result: T; error?: { message: string } }
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}
