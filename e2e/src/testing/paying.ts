import { USDC_ADDRESS, type DevelopmentWallet } from '@tollgate/devnet'
import {
  decodeJson,
  encodeJson,
  type PaymentChoice,
  type PaymentPayload,
  type PaymentRequired,
  type SettleRequest,
} from '@tollgate/protocol'
import { Wallet, hexlify, randomBytes } from 'ethers'
import { blockNumberCall } from './world'

const TransferWithAuthorization = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]

/** A paid call. The caller keeps its payment, and may send it again. */
export async function call(
  { gateway }: { gateway: { url: string } },
  token: string,
  payment?: string,
): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
  const answer = await fetch(`${gateway.url}/rpc`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(payment === undefined ? {} : { 'x-payment': payment }),
    },
    body: JSON.stringify(blockNumberCall),
  })
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as Record<string, unknown>,
  }
}

type PrivateKey = Pick<DevelopmentWallet, 'privateKey'>

type Signing = { nonce?: string; validSeconds?: number }

/** Signs the payment of a 402; valid for ten minutes by default, to outlast an outage. */
export async function sign(
  { privateKey }: PrivateKey,
  asked: unknown,
  { nonce = hexlify(randomBytes(32)), validSeconds = 600 }: Signing = {},
): Promise<string> {
  const { accepts, paymentRequirements } = asked as PaymentRequired
  const [offer] = accepts ?? []
  if (!offer) throw new Error('The 402 offers no way to pay')
  const wallet = new Wallet(privateKey)
  const authorization = {
    from: wallet.address,
    to: offer.payTo,
    value: offer.maxAmountRequired,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + validSeconds),
    nonce,
  }
  const domain = { ...offer.extra, chainId: paymentRequirements.network, verifyingContract: offer.asset }
  const signature = await wallet.signTypedData(domain, { TransferWithAuthorization }, authorization)
  return encodeJson({
    x402Version: 1,
    scheme: 'exact',
    network: offer.network,
    payload: { signature, authorization },
  })
}

/** Signs the first offer of a plain URL that has the plan's price. */
export async function signFor(
  url: string,
  payer: PrivateKey,
  plan: { chain_id: string; amount: string },
): Promise<string> {
  const { accepts = [] } = (await (await fetch(url)).json()) as PaymentChoice
  const offers = accepts.filter(({ maxAmountRequired }) => maxAmountRequired === plan.amount)
  return sign(payer, { accepts: offers, paymentRequirements: { network: plan.chain_id } })
}

export async function settleRequest(
  payer: PrivateKey,
  payTo: string,
  value: bigint,
  signing: Signing = {},
): Promise<SettleRequest> {
  const paymentRequirements = {
    scheme: 'exact',
    network: 'base-sepolia',
    maxAmountRequired: value.toString(),
    resource: 'https://shop.example/report',
    description: '',
    mimeType: '',
    payTo,
    maxTimeoutSeconds: 60,
    asset: USDC_ADDRESS,
    extra: { name: 'USDC', version: '2' },
  }
  const offered = { accepts: [paymentRequirements], paymentRequirements: { network: '84532' } }
  const paymentPayload = decodeJson(await sign(payer, offered, signing)) as PaymentPayload
  return { x402Version: 1, paymentPayload, paymentRequirements }
}

/** Polls until `done`. @throws Error after `seconds` */
export async function until<T>(
  ask: () => Promise<T>,
  done: (answer: T) => boolean,
  seconds = 30,
  pauseMs = 200,
): Promise<T> {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    let last: string
    try {
      const answer = await ask()
      if (done(answer)) return answer
      last = JSON.stringify(answer)
    } catch (error) {
      last = String(error)
    }
    if (Date.now() > deadline) throw new Error(`Not so after ${seconds} s; last: ${last}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
