import { TollgateError } from '../../errors.js'
import { toHex } from '../../encoding.js'
import { clockWrong } from '../../payments/clock.js'
import { type Offer } from '../../payments/offer.js'
import { assertNotStopped, type Stops } from '../../stops.js'
import { type SignedPayment, type Wallet } from '../wallet.js'

export type TypedData = {
  domain: { name: string; version: string; chainId: number; verifyingContract: string }
  types: Record<string, { name: string; type: string }[]>
  primaryType: string
  message: Record<string, string>
}

/** What every library of EVM wallets can do. `chainId` is the one that the wallet must be on to sign. */
export type EvmSigner = {
  address(): Promise<string>
  signMessage(text: string): Promise<string>
  /** Asks its user for nothing more once one of `stops` has come. */
  signTypedData(data: TypedData, stops: Stops): Promise<string>
}

/** An account that signs in by EIP-191 and pays by EIP-3009. */
export function evmWallet(signer: EvmSigner): Wallet {
  const address = () => signed('did not name its account', () => signer.address())
  return {
    ecosystem: 'evm',
    address,
    canPay,
    async signText(text) {
      return { signature: await signed('did not sign the sign-in text', () => signer.signMessage(text)) }
    },
    draftPayment(offer, { now, clockSkew, stops }) {
      const validity = Math.min(offer.maxTimeoutSeconds, LONGEST_VALIDITY_SECONDS)
      if (clockSkew > validity - ARRIVAL_SECONDS)
        throw clockWrong(clockSkew, 'a payment would have expired before it arrives')
      const sign = async () => {
        const from = await address()
        assertNotStopped(stops)
        const authorization = authorizationOf(offer, from, now() + validity)
        const signature = await signed('did not sign the payment', () =>
          signer.signTypedData(typedData(offer, authorization), stops),
        )
        return paymentOf(authorization, signature)
      }
      return Promise.resolve({ sign })
    },
  }
}

/** A server that asks for more could take the payment long after it was forgotten. */
const LONGEST_VALIDITY_SECONDS = 600
/** Facilitators refuse what expires while they settle it. */
const ARRIVAL_SECONDS = 10

const CAIP2 = /^eip155:([1-9][0-9]{0,15})$/

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const MAX_UINT256 = 2n ** 256n - 1n

const canPay = ({ scheme, network, asset, payTo, amount, extra }: Offer): boolean =>
  scheme === 'exact' &&
  CAIP2.test(network) &&
  ADDRESS.test(asset) &&
  ADDRESS.test(payTo) &&
  amount <= MAX_UINT256 &&
  typeof extra['name'] === 'string' &&
  typeof extra['version'] === 'string' &&
  (extra['assetTransferMethod'] ?? 'eip3009') === 'eip3009'

type Authorization = Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', string>

function authorizationOf(offer: Offer, from: string, validBefore: number): Authorization {
  return {
    from,
    to: offer.payTo,
    value: offer.amount.toString(),
    validAfter: '0',
    validBefore: String(validBefore),
    nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
  }
}

/** `TransferWithAuthorization` of EIP-3009, in the EIP-712 domain of the token. */
function typedData({ network, asset, extra }: Offer, authorization: Authorization): TypedData {
  return {
    domain: {
      name: String(extra['name']),
      version: String(extra['version']),
      chainId: Number(CAIP2.exec(network)?.[1]),
      verifyingContract: asset,
    },
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  }
}

const paymentOf = (authorization: Authorization, signature: string): SignedPayment => ({
  payer: authorization.from,
  payload: { signature, authorization },
  nonce: authorization.nonce,
  validUntil: Number(authorization.validBefore),
})

async function signed<T>(problem: string, sign: () => Promise<T>): Promise<T> {
  try {
    return await sign()
  } catch (cause) {
    if (cause instanceof TollgateError) throw cause
    const why = cause instanceof Error ? `: ${cause.message}` : ''
    throw new TollgateError('SIGNATURE_REFUSED', `The wallet ${problem}${why}`, { cause })
  }
}
