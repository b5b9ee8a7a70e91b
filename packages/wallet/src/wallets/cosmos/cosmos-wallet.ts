import { TollgateError } from '../../errors.js'
import { type Offer } from '../../payments/offer.js'
import { type PaymentFee, type WalletFamily } from '../wallet.js'
import { toBase64 } from './base64.js'
import {
  assertFeeModest,
  choosePrice,
  feeFor,
  isSponsored,
  parseGasPrice,
  type GasPrice,
  type Sponsor,
} from './fee.js'
import { createNode } from './node.js'
import { signTransaction } from './sign-transaction.js'
import { callSigner, type CosmosAccount, type CosmosSigner, type Fee, readWalletInput } from './signer.js'
import { keyTypeOf, textDocOf } from './transaction.js'

const NAMESPACE = 'cosmos:'
const DENOMINATION = /^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/

/** A gateway refuses a payment with fewer than ten blocks left. */
const TIMEOUT_BLOCKS = 30n
/** Slower than the chains of the Cosmos SDK, whose blocks take one to seven seconds. */
const BLOCK_SECONDS = 10

/** `cosmos` of `cosmos1…`. */
const prefixOf = (address: string) => address.slice(0, address.lastIndexOf('1')).toLowerCase()

/**
 * A CosmJS `OfflineSigner`, also of Keplr or Leap, or a `CosmosWalletInput`. Until its address is asked for, `canPay` goes by the
 * network alone: signers give their accounts only later.
 *
 * Without a `gasPrice` the fee that the payer bears is at most 100,000 smallest units; the one of an offered `feePayer` costs the payer
 * nothing. A wallet may show and change the fee: its user confirms it, and `SignedPayment` has it.
 */
export const cosmosWallet: WalletFamily = (input) => {
  const found = readWalletInput(input)
  if (found === undefined) return undefined
  const { signer, gasPrice } = found
  const ownPrice = gasPrice === undefined ? undefined : parseOwnPrice(gasPrice)
  let asked: Promise<readonly CosmosAccount[]> | undefined
  let known: readonly CosmosAccount[] | undefined

  async function accounts(): Promise<readonly [CosmosAccount, ...CosmosAccount[]]> {
    asked ??= callSigner(() => signer.getAccounts())
    try {
      known = await asked
    } catch (error) {
      asked = undefined
      throw error
    }
    const [first, ...others] = known
    if (first === undefined) throw new TollgateError('WALLET_UNSUPPORTED', 'The wallet has no account')
    return [first, ...others]
  }

  /** The account that signs in. */
  async function payingAccount({ payTo, network }: Offer): Promise<CosmosAccount> {
    const prefix = prefixOf(payTo)
    const [account] = await accounts()
    if (prefixOf(account.address) === prefix) return account
    throw new TollgateError(
      'NO_PAYABLE_OFFER',
      `The wallet's first address does not begin with ${prefix}1: give a signer of ${network}`,
    )
  }

  return {
    ecosystem: 'cosmos',

    address: async () => (await accounts())[0].address,

    async signText(text) {
      const [{ address }] = await accounts()
      const data = toBase64(new TextEncoder().encode(text))
      const { signature, pub_key } = await callSigner(async () => {
        if (found.signArbitrary) return found.signArbitrary(address, text)
        if (signer.signAmino) return (await signer.signAmino(address, textDocOf(address, data))).signature
        throw new TollgateError(
          'WALLET_UNSUPPORTED',
          'This signer has no signAmino, which signs the sign-in (ADR-036). Pass a signer that has it, such as Secp256k1HdWallet or Keplr’s getOfflineSigner, or { signer, signArbitrary } with signArbitrary(address, text) of the same account',
        )
      })
      return { signature, pubkey: pub_key.value }
    },

    canPay: ({ scheme, network, asset, payTo }) =>
      scheme === 'exact' &&
      network.startsWith(NAMESPACE) &&
      DENOMINATION.test(asset) &&
      (known?.[0] === undefined || prefixOf(known[0].address) === prefixOf(payTo)),

    /**
     * `validUntil` is an estimate: it takes a block to last ten seconds. Should the chain be slower, the account's sequence still lets
     * only one of this payment and the next one happen.
     */
    async draftPayment(offer, { now, nodeUrl, stops }) {
      const account = await payingAccount(offer)
      const chainId = offer.network.slice(NAMESPACE.length)
      const node = createNode({ url: await nodeUrl(chainId), chainId, stops })
      const [onChain, height, minimum] = await Promise.all([
        node.account(account.address),
        node.height(),
        ownPrice ? '' : node.minimumGasPrices(),
      ])
      const sponsor = sponsorOf(offer, account, signer)
      const fee = feeFor(ownPrice ?? statedPrice(minimum, chainId), sponsor)
      if (!ownPrice) assertFeeModest(fee)

      const { accountNumber, sequence } = onChain
      const coin = { denom: offer.asset, amount: `${offer.amount}` }
      const sign = async () => {
        const validUntil = now() + Number(TIMEOUT_BLOCKS) * BLOCK_SECONDS
        const { tx, fee: signed } = await signTransaction(signer, {
          send: { from: account.address, to: offer.payTo, coin },
          key: { keyType: keyTypeOf(onChain, account), pubkey: account.pubkey },
          chainId,
          accountNumber,
          sequence,
          fee,
          timeoutHeight: height + TIMEOUT_BLOCKS,
        })
        const payment = {
          amount: coin.amount,
          denom: offer.asset,
          payer: account.address,
          recipient: offer.payTo,
          publicKey: toBase64(account.pubkey),
          accountNumber: `${accountNumber}`,
          sequence: `${sequence}`,
          txBase64: toBase64(tx),
        }
        const payload = { version: 1, chainId, payment }
        const nonce = `sequence ${sequence}`
        return { payer: account.address, payload, nonce, validUntil, ...borneBy(signed) }
      }
      return { sign, ...borneBy(fee) }
    },
  }
}

/** What the payer pays of it. */
function borneBy(fee: Fee): { fee?: PaymentFee } {
  const [coin] = fee.amount
  if (coin === undefined || isSponsored(fee)) return {}
  return { fee: { asset: coin.denom, amount: BigInt(coin.amount) } }
}

function parseOwnPrice(text: string): GasPrice {
  const price = parseGasPrice(text)
  if (price) return price
  throw new TollgateError('INVALID_ARGUMENT', '`gasPrice` is not a price of gas such as 0.025uatom')
}

function statedPrice(minimum: string, chainId: string): GasPrice {
  const price = choosePrice(minimum)
  if (price) return price
  throw new TollgateError(
    'INVALID_ARGUMENT',
    `The node of ${chainId} does not state its price of gas: pass { signer, gasPrice: '0.025uatom' } as the wallet, with the chain's price`,
  )
}

/** An allowance of the payer to itself would be the payer's own money. One that signs too needs no allowance, nor a block for it. */
function sponsorOf(
  { extra: { feePayer, feePayerSigns } }: Offer,
  { address }: CosmosAccount,
  { signAmino }: CosmosSigner,
): Sponsor | undefined {
  if (typeof feePayer !== 'string' || feePayer === '' || feePayer.toLowerCase() === address) return undefined
  return feePayerSigns === true && signAmino ? { payer: feePayer } : { granter: feePayer }
}
