import { formatAmount, type PaymentRequired, type PricingPlan, type SettleResult } from '@tollgate/protocol'
import { Wallet, getAddress, id as keccakOf, randomBytes, hexlify, zeroPadValue } from 'ethers'
import { askJson, type JsonAnswer } from './ask'

/** Everything the story needs to know; `say` prints one line of it. */
export type StoryWorld = {
  gatewayUrl: string
  serviceName: string
  rpcUrl: string
  planId: number
  /** Gives a wallet that nobody has seen before enough of the asset to pay once. */
  fund: (address: string) => Promise<void>
  say: (step: string, fact: string) => void
}

const CALL_TIMEOUT_MS = 60_000
const TRANSFER = keccakOf('Transfer(address,address,uint256)')

/**
 * One paid call as it happens: a wallet that was never here before signs in, is asked to pay, pays on the chain, and is
 * served. Every step is checked, the last one against the chain itself; the first that does not hold rejects.
 */
export async function tellEvmStory(world: StoryWorld): Promise<void> {
  const { gatewayUrl, rpcUrl, planId, say } = world
  const wallet = Wallet.createRandom()
  await world.fund(wallet.address)
  say('wallet', `${wallet.address} (new, test money only)`)

  const plan = expect(await askJson<{ data: PricingPlan }>(`${gatewayUrl}/pricing/${planId}`), 200).data
  const price = `${formatAmount(BigInt(plan.amount), plan.decimals)} ${plan.display_denom}`
  say('plan', `${plan.plan_name}: ${price} for ${plan.credits} credits, paid to ${plan.pay_to}`)

  const token = await signIn(world, wallet, plan)
  const call = {
    headers: { authorization: `Bearer ${token}` },
    body: {
      ecosystem: plan.ecosystem,
      chain_id: plan.chain_id,
      resource: '',
      method: 'POST',
      transport: 'rpc',
      payload: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
    },
    timeoutMs: CALL_TIMEOUT_MS,
  }

  const asked = expect(await askJson<PaymentRequired>(`${gatewayUrl}/rpc`, call), 402)
  say('402', asked.message)

  const payment = await signPayment(wallet, asked)
  say('signature', `EIP-3009 authorization ${payment.nonce}`)

  const headers = { ...call.headers, 'x-payment': payment.header }
  const served = await askJson<{ result: string }>(`${gatewayUrl}/rpc`, { ...call, headers })
  const answer = expect(served, 200)
  const receipt = readReceipt(served.headers.get('x-payment-response'))
  await checkOnChain(rpcUrl, receipt, plan, wallet.address)
  say('settlement', `${receipt.transaction} in block ${receipt.blockNumber}`)
  say('on chain', `Transfer of exactly ${plan.amount} from the wallet to ${plan.pay_to}`)
  say('answer', `eth_blockNumber = ${Number(answer.result)}`)

  const credits = expect(
    await askJson<{ pricing_plan_id: number; remaining_credits: number }[]>(
      `${gatewayUrl}/credits/${wallet.address}`,
    ),
    200,
  )
  const left = credits.find(({ pricing_plan_id }) => pricing_plan_id === plan.id)?.remaining_credits
  if (left !== plan.credits - 1)
    throw new Error(`The wallet has ${left ?? 'no'} credits left instead of ${plan.credits - 1}`)
  say('credits', `${left} left of ${plan.credits}`)
}

async function signIn(
  { gatewayUrl, serviceName, say }: StoryWorld,
  wallet: { address: string; signMessage(text: string): Promise<string> },
  plan: PricingPlan,
) {
  const { nonce } = expect(
    await askJson<{ nonce: string }>(`${gatewayUrl}/auth/nonce?address=${wallet.address}`),
    200,
  )
  say('nonce', nonce)
  const message = [
    `${serviceName} wants you to sign in.`,
    '',
    `Address: ${wallet.address}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date().toISOString()}`,
  ].join('\n')
  const login = {
    message,
    auth_method: 'siwe',
    signature: await wallet.signMessage(message),
    address: wallet.address,
    x402_chain_id: plan.chain_id,
    x402_ecosystem: plan.ecosystem,
    pricing_plan_id: plan.id,
  }
  const { token, expires_at } = expect(
    await askJson<{ token: string; expires_at: string }>(`${gatewayUrl}/auth/login`, { body: login }),
    200,
  )
  say('sign-in', `session until ${expires_at}`)
  return token
}

/** What any x402 version 1 client does with a 402 (https://eips.ethereum.org/EIPS/eip-3009). */
async function signPayment(
  wallet: { address: string; signTypedData: Wallet['signTypedData'] },
  asked: PaymentRequired,
) {
  const [offer] = asked.accepts ?? []
  if (!offer) throw new Error('The 402 offers no way to pay')
  const nonce = hexlify(randomBytes(32))
  const authorization = {
    from: wallet.address,
    to: getAddress(offer.payTo),
    value: offer.maxAmountRequired,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + offer.maxTimeoutSeconds),
    nonce,
  }
  const domain = {
    ...offer.extra,
    chainId: Number(asked.paymentRequirements.network),
    verifyingContract: offer.asset,
  }
  const signature = await wallet.signTypedData(domain, TRANSFER_WITH_AUTHORIZATION, authorization)
  const payload = {
    x402Version: 1,
    scheme: offer.scheme,
    network: offer.network,
    payload: { signature, authorization },
  }
  return { nonce, header: Buffer.from(JSON.stringify(payload)).toString('base64') }
}

const TRANSFER_WITH_AUTHORIZATION = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

const readReceipt = (header: string | null): SettleResult => {
  if (header === null) throw new Error('The answer has no X-PAYMENT-RESPONSE')
  return JSON.parse(Buffer.from(header, 'base64').toString()) as SettleResult
}

type ChainReceipt = { status: string; logs: { address: string; topics: string[]; data: string }[] }

/** Asks the chain, not us, whether the money moved. */
async function checkOnChain(rpcUrl: string, { transaction }: SettleResult, plan: PricingPlan, payer: string) {
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_getTransactionReceipt', params: [transaction] }
  const { result } = expect(await askJson<{ result: ChainReceipt | null }>(rpcUrl, { body }), 200)
  const moved = result?.logs.some(
    ({ address, topics, data }) =>
      getAddress(address) === getAddress(plan.asset_address) &&
      topics[0] === TRANSFER &&
      topics[1] === zeroPadValue(payer.toLowerCase(), 32) &&
      topics[2] === zeroPadValue(plan.pay_to.toLowerCase(), 32) &&
      BigInt(data) === BigInt(plan.amount),
  )
  if (result?.status !== '0x1' || !moved)
    throw new Error(`The chain does not show the payment in ${transaction}`)
}

function expect<T>(answer: JsonAnswer<T>, status: number): T {
  if (answer.status === status) return answer.body
  throw new Error(
    `${answer.url} answered ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`,
  )
}
