import { createTollgate, type WalletStorage } from '@tollgate/wallet'
import { fileStorage } from '@tollgate/wallet/file-storage'
import { Wallet } from 'ethers'

/** Where a process of a wallet is killed while it pays. */
export const crashSteps = ['signed', 'stored', 'received', 'answered', 'recorded', 'called'] as const
export type CrashStep = (typeof crashSteps)[number]

const { GATEWAY = '', PRIVATE_KEY = '', FOLDER = '', CRASH_AT, ASSET = '', CALLS = '1' } = process.env
const isPayment = (key: string) => key.startsWith('payments/')

function crashAt(step: CrashStep): void {
  if (CRASH_AT === step) process.kill(process.pid, 'SIGKILL')
}

function crashingWallet() {
  const wallet = new Wallet(PRIVATE_KEY)
  const signTypedData = wallet.signTypedData.bind(wallet)
  wallet.signTypedData = async (...data) => {
    const signature = await signTypedData(...data)
    crashAt('signed')
    return signature
  }
  return wallet
}

function crashingStorage(): WalletStorage {
  const storage = fileStorage(FOLDER)
  return {
    ...storage,
    async create(key, value) {
      const created = await storage.create(key, value)
      if (isPayment(key)) crashAt('stored')
      return created
    },
    async set(key, value) {
      if (isPayment(key)) crashAt('answered')
      await storage.set(key, value)
      if (isPayment(key)) crashAt('recorded')
    },
  }
}

/** Ends the process as soon as the gateway has a payment of the wallet, mostly before it is settled. */
async function crashWhenReceived(address: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${GATEWAY}/payments/${address}`)
    const { pagination } = (await answer.json()) as { pagination: { total: number } }
    if (pagination.total > 0) crashAt('received')
  }
}

async function main(): Promise<void> {
  const wallet = crashingWallet()
  const asset = { network: 'eip155:84532', asset: ASSET, perPayment: 10_000n }
  const tollgate = createTollgate({
    url: GATEWAY,
    wallet,
    limits: { assets: [asset] },
    storage: crashingStorage(),
  })
  if (CRASH_AT === 'received') tollgate.on('payment-required', () => void crashWhenReceived(wallet.address))
  const events: string[] = []
  tollgate.on('signed-in', () => events.push('signed-in'))
  tollgate.on('paid', () => events.push('paid'))
  const call = () => tollgate.request('eip155:84532', 'eth_chainId')
  const results = await Promise.all(Array.from({ length: Number(CALLS) }, call))
  crashAt('called')
  process.stdout.write(JSON.stringify({ results, events, credits: await tollgate.credits() }))
}

if (require.main === module)
  main().catch((error: unknown) => {
    process.stderr.write(String(error instanceof Error ? error.stack : error))
    process.exitCode = 1
  })
