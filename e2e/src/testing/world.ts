import {
  createProcessGroup,
  removePostgres,
  developmentWallets,
  openState,
  startDevnet,
  type Overrides,
  type Apps,
  type DevelopmentWallet,
} from '@tollgate/devnet'
import { type SessionTokens } from '@tollgate/protocol'
import { Wallet } from 'ethers'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const root = join(__dirname, '../../..')

export type World = Apps & {
  folder: string
  /** The log file of a service: `gateway`, or `gateway-2` for the first additional one. */
  log: (service: string) => string
  stop: () => Promise<void>
}

/**
 * Starts both services as separate processes, on a new chain and new stores, as `npm start` does, with
 * `overrides`. `signal` stops them, also during the start.
 */
export async function startWorld({
  signal,
  overrides = {},
}: { signal?: AbortSignal; overrides?: Overrides } = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'))
  const processes = createProcessGroup()
  const stop = async () => {
    await processes.stop()
    removePostgres(join(folder, 'postgres'))
    rmSync(folder, { recursive: true, force: true })
  }
  signal?.addEventListener('abort', () => void processes.stop(), { once: true })
  try {
    const apps = await startDevnet({
      root,
      state: openState(folder),
      processes,
      usualPorts: false,
      overrides,
    })
    return { ...apps, folder, log: (service) => join(folder, 'logs', `${service}.log`), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

export function walletAt(index: number): DevelopmentWallet {
  const wallet = developmentWallets[index]
  if (!wallet) throw new Error(`There is no development wallet ${index}`)
  return wallet
}

export type Entrance = {
  gateway: { url: string }
  serviceName: string
  plan: { id: number; chain_id: string; ecosystem: string }
}

/** A wallet by its key, or one that signs by itself, as a contract wallet does. */
export type Signer =
  | Pick<DevelopmentWallet, 'privateKey'>
  | { address: string; signMessage(message: string): Promise<string> }

/** A SIWE login body, valid for one session. Gets a new nonce unless it is given one. */
export async function signedLogin({ gateway, serviceName, plan }: Entrance, signer: Signer, given?: string) {
  const wallet = 'signMessage' in signer ? signer : new Wallet(signer.privateKey)
  const newNonce = async () =>
    ((await (await fetch(`${gateway.url}/auth/nonce?address=${wallet.address}`)).json()) as { nonce: string })
      .nonce
  const nonce = given ?? (await newNonce())
  const message = `${serviceName} wants you to sign in.\n\nAddress: ${wallet.address}\nNonce: ${nonce}\nIssued At: ${new Date().toISOString()}`
  return {
    message,
    auth_method: 'siwe',
    signature: await wallet.signMessage(message),
    address: wallet.address,
    x402_chain_id: plan.chain_id,
    x402_ecosystem: plan.ecosystem,
    pricing_plan_id: plan.id,
  }
}

export async function openSession(entrance: Entrance, wallet: Signer): Promise<SessionTokens> {
  const answer = await fetch(`${entrance.gateway.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(await signedLogin(entrance, wallet)),
  })
  if (answer.status !== 200)
    throw new Error(`The login was answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as SessionTokens
}

export const signIn = async (entrance: Entrance, wallet: Signer): Promise<string> =>
  (await openSession(entrance, wallet)).token

export const blockNumberCall = {
  ecosystem: 'evm',
  chain_id: '84532',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload: { jsonrpc: '2.0', id: 7, method: 'eth_blockNumber', params: [] },
}
