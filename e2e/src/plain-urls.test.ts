import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { fundWallet, usdcAbi, USDC_ADDRESS } from '@tollgate/devnet'
import { DirectSecp256k1Wallet } from '@cosmjs/proto-signing'
import { coins, SigningStargateClient, StargateClient } from '@cosmjs/stargate'
import { BrowserProvider, Contract, JsonRpcProvider, Wallet } from 'ethers'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createPublicClient, createWalletClient, http, parseAbi, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { openCosmosSession } from './testing/cosmos-session'
import { COSMOS_FEE, newCosmosWallet } from './testing/cosmos-wallet'
import { newCustomer } from './testing/customers'
import { openLedgerQueries, type LedgerQueries } from './testing/ledger-queries'
import { call } from './testing/paying'
import { createAccessKey, plainBlockNumber, postJson } from './testing/plain-calls'
import { queryNode } from './testing/query-node'
import { startWorld, type World } from './testing/world'

const EVM_CHAIN = '84532'
const WEI = 10n ** 18n
const RECIPIENT = '0x00000000000000000000000000000000000000aa'

let world: World
let ledger: LedgerQueries

beforeAll(async () => {
  world = await startWorld()
  ledger = openLedgerQueries(world.infrastructure.postgres.gateway)
}, 120_000)

afterAll(async () => {
  await ledger.close()
  await world.stop()
}, 30_000)

/** A wallet that signed in, bought a bundle, and made an access key. */
async function keyHolder(limits: Record<string, unknown> = {}) {
  const { address, wallet, session, pay } = await newCustomer(world, world.plan)
  await fundWallet(world.infrastructure.rpcUrl, address, { usdc: 0n, wei: WEI })
  const payment = await pay((await call(world, session.token)).body)
  expect((await call(world, session.token, payment)).status).toBe(200)
  const key = await createAccessKey(world, session.token, limits)
  return { address, privateKey: wallet.privateKey, session, key, url: key.urlOf(EVM_CHAIN) }
}

/** The credits of each request with the key, in their order. */
const chargesOf = async (keyId: string) =>
  (
    await ledger.rows<{ credits: number }>('SELECT credits FROM usage WHERE key_id = $1 ORDER BY id', [keyId])
  ).map(({ credits }) => credits)

const node = (method: string, ...params: unknown[]) => queryNode(world.infrastructure.rpcUrl, method, params)

describe('viem, with http(url)', () => {
  test('reads the chain', async () => {
    const { address, url } = await keyHolder()
    const client = createPublicClient({ chain: baseSepolia, transport: http(url) })
    expect(await client.getChainId()).toBe(baseSepolia.id)
    expect(await client.getBlockNumber()).toBe(BigInt((await node('eth_blockNumber')) as string))
    expect(await client.getBalance({ address: address as Hex })).toBe(WEI)
    const logs = await client.getLogs({ address: USDC_ADDRESS, fromBlock: 0n, toBlock: 'latest' })
    const range = { address: USDC_ADDRESS, fromBlock: '0x0', toBlock: 'latest' }
    expect(logs.length).toBe(((await node('eth_getLogs', range)) as unknown[]).length)
    const balance = { address: USDC_ADDRESS, abi: parseAbi(usdcAbi), functionName: 'balanceOf' } as const
    expect(await client.readContract({ ...balance, args: [address as Hex] })).toBe(
      1_000_000n - BigInt(world.plan.amount),
    )
  })

  test('sends a transaction and waits for its receipt', async () => {
    const { privateKey, url } = await keyHolder()
    const parts = { chain: baseSepolia, transport: http(url), pollingInterval: 100 }
    const sender = createWalletClient({ ...parts, account: privateKeyToAccount(privateKey as Hex) })
    const hash = await sender.sendTransaction({ to: RECIPIENT, value: 1n })
    const receipt = await createPublicClient(parts).waitForTransactionReceipt({ hash })
    expect(receipt.status).toBe('success')
    expect(await node('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
  })

  test('sends the calls of a batch in one request, which costs the sum', async () => {
    const { address, url, key } = await keyHolder()
    const client = createPublicClient({ chain: baseSepolia, transport: http(url, { batch: true }) })
    const answers = await Promise.all([
      client.getChainId(),
      client.getBalance({ address: address as Hex }),
      client.getTransactionCount({ address: address as Hex }),
    ])
    expect(answers).toEqual([baseSepolia.id, WEI, 0])
    await ledger.settled(30)
    expect(await chargesOf(key.id)).toEqual([3])
  })

  test('gets the errors of the node as the node has them', async () => {
    const { address, url } = await keyHolder()
    const client = createPublicClient({ chain: baseSepolia, transport: http(url, { retryCount: 0 }) })
    const transfer = { address: USDC_ADDRESS, abi: parseAbi(usdcAbi), functionName: 'transfer' } as const
    const simulated = client.simulateContract({
      ...transfer,
      account: address as Hex,
      args: [RECIPIENT, 10n ** 30n],
    })
    await expect(simulated).rejects.toThrow(/ERC20InsufficientBalance|reverted/)
  })

  test('is refused everywhere once the key is deleted', async () => {
    const { url, key, session } = await keyHolder()
    const second = await world.addGateway()
    const clients = [url, url.replace(world.gateway.url, second.url)].map((each) =>
      createPublicClient({ chain: baseSepolia, transport: http(each, { retryCount: 0 }) }),
    )
    for (const client of clients) await client.getChainId()
    const deleted = await fetch(`${world.gateway.url}/keys/${key.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${session.token}` },
    })
    expect(deleted.status).toBe(200)
    for (const client of clients) await expect(client.getChainId()).rejects.toMatchObject({ status: 401 })
    await second.stop()
  })
})

describe('ethers, with JsonRpcProvider(url)', () => {
  let provider: JsonRpcProvider
  afterEach(() => provider.destroy())
  const tokenBalance = async (address: string) =>
    (await new Contract(USDC_ADDRESS, usdcAbi, provider).getFunction('balanceOf')(address)) as bigint

  test('finds out the network, and calls a contract', async () => {
    const { address, url } = await keyHolder()
    provider = new JsonRpcProvider(url)
    expect((await provider.getNetwork()).chainId).toBe(84532n)
    expect(await tokenBalance(address)).toBe(1_000_000n - BigInt(world.plan.amount))
  })

  test('sends the calls of a batch in one request, which costs the sum', async () => {
    const { address, url, key } = await keyHolder()
    provider = new JsonRpcProvider(url, 84532, { staticNetwork: true })
    expect(await Promise.all([provider.getBalance(address), tokenBalance(address)])).toEqual([
      WEI,
      1_000_000n - BigInt(world.plan.amount),
    ])
    await ledger.settled(30)
    expect(await chargesOf(key.id)).toEqual([2])
  })

  test('broadcasts a signed transaction and waits for it', async () => {
    const { privateKey, url } = await keyHolder()
    provider = new JsonRpcProvider(url, undefined, { polling: true, pollingInterval: 100 })
    const wallet = new Wallet(privateKey, provider)
    const filled = await wallet.populateTransaction({ to: RECIPIENT, value: 1n })
    const sent = await provider.broadcastTransaction(await wallet.signTransaction(filled))
    expect((await sent.wait())?.status).toBe(1)
  })

  test('a wallet that is given the URL serves a page of an allowed origin, and no other', async () => {
    const origin = 'https://app.example'
    const { url } = await keyHolder({ origins: [origin] })
    let id = 0
    const injectedAt = (from: string) => ({
      async request({ method, params = [] }: { method: string; params?: unknown[] | object }) {
        const answer = await postJson(url, { jsonrpc: '2.0', id: ++id, method, params }, { origin: from })
        const { result } = (await answer.json()) as { result?: unknown }
        if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`)
        expect(answer.headers.get('access-control-allow-origin')).toMatch(/^\*$|^https:\/\/app\.example$/)
        return result
      },
    })
    const page = new BrowserProvider(injectedAt(origin))
    expect((await page.getNetwork()).chainId).toBe(84532n)
    expect(await page.getBlockNumber()).toBeGreaterThan(0)
    page.destroy()
    await expect(injectedAt('https://evil.example').request({ method: 'eth_chainId' })).rejects.toThrow(
      'HTTP 403',
    )
  })
})

describe('CosmJS, with connect(url)', () => {
  async function cosmosKeyHolder() {
    const secret = randomBytes(32)
    const wallet = await newCosmosWallet(secret)
    const { cosmosPlan } = world
    const { rpcUrl } = world.infrastructure.cosmos
    const money = BigInt(cosmosPlan.amount) + 10n * COSMOS_FEE
    await fundCosmosWallet(rpcUrl, wallet.address, `${money}uatom`)
    const { token } = await openCosmosSession({ ...world, plan: cosmosPlan }, wallet)
    const chain = await StargateClient.connect(rpcUrl)
    const terms = { payTo: cosmosPlan.pay_to, amount: BigInt(cosmosPlan.amount) }
    const { payload } = await wallet.pay(chain, terms)
    chain.disconnect()
    const network = cosmosPlan.chain_id
    const payment = { paymentPayload: { x402Version: 1, scheme: 'exact', network, payload } }
    const bought = await postJson(
      `${world.gateway.url}/v1/${network}`,
      { jsonrpc: '2.0', id: 1, method: 'status', params: {} },
      {
        authorization: `Bearer ${token}`,
        'x-payment': Buffer.from(JSON.stringify(payment)).toString('base64'),
      },
    )
    expect(bought.status).toBe(200)
    const key = await createAccessKey(world, token)
    return {
      address: wallet.address,
      secret,
      url: key.urlOf(network),
      left: money - terms.amount - COSMOS_FEE,
    }
  }

  test('reads height and balance, and sends', async () => {
    const { address, secret, url, left } = await cosmosKeyHolder()
    const reader = await StargateClient.connect(url)
    expect(await reader.getChainId()).toBe(world.cosmosPlan.chain_id)
    expect(await reader.getHeight()).toBeGreaterThan(0)
    expect(await reader.getBalance(address, 'uatom')).toEqual({ denom: 'uatom', amount: String(left) })
    reader.disconnect()

    const signer = await DirectSecp256k1Wallet.fromKey(secret, 'cosmos')
    const client = await SigningStargateClient.connectWithSigner(url, signer, {
      broadcastPollIntervalMs: 100,
    })
    const fee = { amount: coins(Number(COSMOS_FEE), 'uatom'), gas: '150000' }
    const { pay_to: recipient } = world.cosmosPlan
    const { code, height } = await client.sendTokens(address, recipient, coins(1, 'uatom'), fee)
    expect([code, height > 0]).toEqual([0, true])
    expect((await client.getBalance(address, 'uatom')).amount).toBe(String(left - COSMOS_FEE - 1n))
    client.disconnect()
  })

  test('the URI form of CometBFT works as at the node', async () => {
    const { url } = await cosmosKeyHolder()
    const askedAt = async (base: string, path: string) => {
      const answer = await fetch(`${base}${path}`)
      return [path, answer.status, await answer.text()]
    }
    for (const path of ['/block?height=1', '/block?height=none', '/no_such_method'])
      expect(await askedAt(url, path)).toEqual(await askedAt(world.infrastructure.cosmos.rpcUrl, path))
    expect((await askedAt(url, '/status'))[1]).toBe(200)
  })
})

test('the history shows the label, and no log and no metric shows the secret', async () => {
  const { address, key, url } = await keyHolder({ label: 'block explorer' })
  expect((await postJson(url, plainBlockNumber)).status).toBe(200)
  expect((await postJson(`${url}x`, plainBlockNumber)).status).toBe(400)
  await ledger.settled(30)
  const history: unknown = await (await fetch(`${world.gateway.url}/history/${address}`)).json()
  expect(JSON.stringify(history)).toContain('"key_label":"block explorer"')
  const metrics = await (await fetch(world.gateway.metricsUrl)).text()
  for (const text of [readFileSync(world.log('gateway'), 'utf8'), metrics])
    expect(text).not.toContain(key.key.slice(4))
})
