import {
  createParts,
  removePostgres,
  developmentWallets,
  openState,
  startDevnet,
  type Apps,
  type DevelopmentWallet,
} from '@tollgate/devnet'
import { type SessionTokens } from '@tollgate/protocol'
import { Wallet } from 'ethers'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(__dirname, '../../..')

export type World = Apps & {
  folder: string
  /** The log file of a service. */
  log: (service: 'gateway' | 'facilitator') => string
  stop: () => Promise<void>
}

/** Both services as processes of their own, on a chain and stores of their own, as `npm start` brings them up. */
export async function startWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'))
  const parts = createParts()
  const stop = async () => {
    await parts.stop()
    removePostgres(join(folder, 'postgres'))
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const apps = await startDevnet({ root, state: openState(folder), parts })
    return { ...apps, folder, log: (service) => join(folder, 'logs', `${service}.log`), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** One of the ten funded wallets. */
export function walletAt(index: number): DevelopmentWallet {
  const wallet = developmentWallets[index]
  if (!wallet) throw new Error(`There is no development wallet ${index}`)
  return wallet
}

/** Signs in at the gateway by SIWE, as a wallet app does, and answers the bearer token. */
export async function signIn(
  { gateway, serviceName, plan }: World,
  { privateKey }: DevelopmentWallet,
): Promise<string> {
  const wallet = new Wallet(privateKey)
  const { nonce } = (await (await fetch(`${gateway.url}/auth/nonce?address=${wallet.address}`)).json()) as {
    nonce: string
  }
  const message = `${serviceName} wants you to sign in.\n\nAddress: ${wallet.address}\nNonce: ${nonce}\nIssued At: ${new Date().toISOString()}`
  const answer = await fetch(`${gateway.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      message,
      auth_method: 'siwe',
      signature: await wallet.signMessage(message),
      address: wallet.address,
      x402_chain_id: plan.chain_id,
      x402_ecosystem: plan.ecosystem,
      pricing_plan_id: plan.id,
    }),
  })
  return ((await answer.json()) as SessionTokens).token
}

/** A call that asks the chain for its newest block. */
export const blockNumberCall = {
  ecosystem: 'evm',
  chain_id: '84532',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload: { jsonrpc: '2.0', id: 7, method: 'eth_blockNumber', params: [] },
}
