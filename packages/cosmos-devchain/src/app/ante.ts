import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { readAccount, writeAccount } from './accounts'
import { readAddress, bytesOf } from './address'
import { payFee } from './bank'
import { amountOf, areValid, coinsText } from './coins'
import { type Context, event } from './context'
import { AbciError, sdkError, wrapped } from './errors'
import { useGrantedFees } from './feegrant'
import { chargeParameters } from './gas'
import { addressOfKey, isSignedBy, readKey } from './keys'
import { signBytesOf } from './sign-bytes'
import { goTimeText, timestampOf } from './time'
import { type Tx } from './tx'

export const MEMO_CHARACTERS = 256
export const SIGNATURE_LIMIT = 7
export const BYTE_GAS = 10
export const SIGNATURE_GAS = 1000
/** Size of a secp256k1 key and signature in amino; a simulation without a signature charges gas for it. */
const SIMULATED_SIGNATURE_BYTES = 116
const MOST_GAS = 2n ** 63n - 1n
const PRICE_UNIT = 10n ** 18n

/**
 * Checks a transaction before its messages are executed, in the order of the SDK's ante handler. Throws the first refusal; the
 * caller then drops the changes.
 */
export function ante(context: Context, tx: Tx) {
  for (const step of steps) step(context, tx)
}

const steps: ((context: Context, tx: Tx) => void)[] = [
  function rejectExtensionOptions(_, { body }) {
    if (body.extensionOptions.length > 0) throw sdkError('unknown extension options')
  },

  function validateBasic({ mode }, tx) {
    if (mode === 'recheck') return
    const { fee, raw } = tx
    if (!fee) throw sdkError('internal', 'missing fee')
    if (fee.gas > MOST_GAS)
      throw sdkError('invalid request', `invalid gas supplied; ${fee.gas} > ${MOST_GAS}`)
    if (fee.coins.some(({ amount }) => amount < 0n))
      throw sdkError('insufficient fee', `invalid fee provided: ${coinsText(fee.coins)}`)
    if (fee.payer) asFeePayer(fee.payer)
    if (raw.signatures.length === 0) throw sdkError('no signatures supplied')
    const wanted = tx.requiredSigners().length
    if (raw.signatures.length !== wanted)
      throw sdkError(
        'unauthorized',
        `wrong number of signers; expected ${wanted}, got ${raw.signatures.length}`,
      )
  },

  function checkTimeout({ block }, { body }) {
    const { timeoutHeight, timeoutTimestamp } = body
    if (timeoutHeight > 0n && BigInt(block.height) > timeoutHeight)
      throw sdkError('tx timeout height', `block height: ${block.height}, timeout height: ${timeoutHeight}`)
    if (!timeoutTimestamp || timeoutTimestamp.seconds === 0n) return
    const time = Number(timeoutTimestamp.seconds) * 1000 + timeoutTimestamp.nanos / 1e6
    if (time < block.time)
      throw sdkError(
        'tx timeout',
        `block time: ${goTimeText(timestampOf(block.time))}, timeout timestamp: ${goTimeText(timeoutTimestamp)}`,
      )
  },

  function checkMemo({ gas }, { body }) {
    if (body.memo === '') return
    chargeParameters(gas)
    const length = Buffer.byteLength(body.memo)
    if (length > MEMO_CHARACTERS)
      throw sdkError(
        'memo too large',
        `maximum number of characters is ${MEMO_CHARACTERS} but received ${length} characters`,
      )
  },

  function consumeSizeGas({ gas, mode }, tx) {
    chargeParameters(gas)
    gas.consume(BYTE_GAS * tx.bytes.length, 'txSize')
    if (mode !== 'simulate') return
    tx.requiredSigners().forEach((_, i) => {
      if (!tx.signers[i]?.signature.length) gas.consume(BYTE_GAS * SIMULATED_SIGNATURE_BYTES, 'txSize')
    })
  },

  function deductFee(context, tx) {
    const { mode, store } = context
    const { coins, gas, payer: named, granter } = tx.fee ?? { coins: [], gas: 0n, payer: '', granter: '' }
    if (mode !== 'simulate' && gas === 0n) throw sdkError('invalid gas limit', 'must provide positive gas')
    if (mode === 'check' || mode === 'recheck') checkGasPrice(context, tx)
    const payer = named ? readAddress(named) : (tx.requiredSigners()[0] ?? '')
    const from = granter ? asGranter(granter) : payer
    if (from !== payer) {
      try {
        useGrantedFees(context, from, payer, coins, tx.messages)
      } catch (problem) {
        throw wrapped(problem, `${rawAddress(from)} does not allow to pay fees for ${rawAddress(payer)}`)
      }
    }
    if (!readAccount(store, from))
      throw sdkError('unknown address', `fee payer address: ${from} does not exist`)
    if (coins.some(({ amount }) => amount !== 0n)) {
      if (!areValid(coins)) throw sdkError('insufficient fee', `invalid fee amount: ${coinsText(coins)}`)
      try {
        payFee(context, from, coins)
      } catch (problem) {
        throw problem instanceof AbciError && problem.code === 5
          ? sdkError('insufficient funds', problem.message)
          : problem
      }
    }
    context.events.push(event('tx', { fee: coinsText(coins), fee_payer: from }))
  },

  function setPublicKeys({ store, events, mode }, tx) {
    const required = tx.requiredSigners()
    tx.signers.forEach(({ publicKey }, i) => {
      if (!publicKey && mode !== 'simulate') return
      const address = required[i] ?? ''
      const key = publicKey && readKey(publicKey)
      if (mode !== 'simulate' && (!key || addressOfKey(key) !== address))
        throw sdkError(
          'invalid pubkey',
          `pubKey does not match signer address ${address} with signer index: ${i}`,
        )
      const account = accountOf(store, address)
      if (publicKey && !account.publicKey) writeAccount(store, { ...account, publicKey })
    })
    // The SDK decodes the signature as a `MultiSignature`, which fails for the signature of a single key.
    if (tx.signers.some(({ mode: signMode }) => signMode === 'multi'))
      throw new AbciError('undefined', 1, 'proto: illegal wireType 7')
    tx.signers.forEach(({ sequence, signature }, i) => {
      events.push(event('tx', { acc_seq: `${required[i] ?? ''}/${sequence}` }))
      events.push(event('tx', { signature: Buffer.from(signature).toString('base64') }))
    })
  },

  function checkSignatureCount({ gas }, { signers }) {
    chargeParameters(gas)
    if (signers.length > SIGNATURE_LIMIT)
      throw sdkError(
        'maximum number of signatures exceeded',
        `signatures: ${signers.length}, limit: ${SIGNATURE_LIMIT}`,
      )
  },

  function consumeSignatureGas({ store, gas, mode }, tx) {
    chargeParameters(gas)
    const required = tx.requiredSigners()
    tx.signers.forEach((_, i) => {
      const { publicKey } = accountOf(store, required[i] ?? '')
      if (!(mode === 'simulate' && !publicKey) && !(publicKey && readKey(publicKey)))
        throw sdkError('invalid pubkey', `unrecognized public key type: ${publicKey?.typeUrl ?? '<nil>'}`)
      gas.consume(SIGNATURE_GAS, 'ante verify: secp256k1')
    })
  },

  function verifySignatures(context, tx) {
    const { store, mode, chainId, block } = context
    if (tx.body.unordered) throw sdkError('feature not supported', 'unordered transactions are not enabled')
    const required = tx.requiredSigners()
    if (tx.signers.length !== required.length)
      throw sdkError(
        'unauthorized',
        `invalid number of signer;  expected: ${required.length}, got ${tx.signers.length}`,
      )
    tx.signers.forEach((signer, i) => {
      const { accountNumber: ownNumber, sequence, publicKey } = accountOf(store, required[i] ?? '')
      // At height 0 the SDK treats every account as a genesis account.
      const accountNumber = block.height === 0 ? 0n : ownNumber
      if (mode !== 'simulate' && !publicKey) throw sdkError('invalid pubkey', 'pubkey on account is not set')
      if (signer.sequence !== sequence)
        throw sdkError(
          'incorrect account sequence',
          `account sequence mismatch, expected ${sequence}, got ${signer.sequence}`,
        )
      if (mode === 'simulate' || mode === 'recheck') return
      const signBytes = signBytesOf(tx, signer, { chainId, accountNumber, sequence })
      const key = publicKey && readKey(Any.fromPartial(publicKey))
      const reason =
        typeof signBytes === 'string'
          ? signBytes
          : key && isSignedBy(key, signBytes, signer.signature)
            ? undefined
            : 'unable to verify single signer signature'
      if (reason !== undefined)
        throw sdkError(
          'unauthorized',
          signer.mode === SignMode.SIGN_MODE_LEGACY_AMINO_JSON
            ? `signature verification failed; please verify account number (${accountNumber}), sequence (${sequence}) and chain-id (${chainId})`
            : `signature verification failed; please verify account number (${accountNumber}) and chain-id (${chainId}): (${reason})`,
        )
    })
  },

  function incrementSequences({ store }, tx) {
    for (const address of tx.requiredSigners()) {
      const account = accountOf(store, address)
      writeAccount(store, { ...account, sequence: account.sequence + 1n })
    }
  },
]

/** Refuses a transaction whose gas price is below the node's minimum. */
function checkGasPrice({ minimumGasPrice: { denom, price } }: Context, { fee }: Tx) {
  const required = ((fee?.gas ?? 0n) * price + PRICE_UNIT - 1n) / PRICE_UNIT
  const coins = fee?.coins ?? []
  if (price > 0n && (required === 0n || amountOf(coins, denom) < required))
    throw sdkError(
      'insufficient fee',
      `insufficient fees; got: ${coinsText(coins)} required: ${required}${denom}`,
    )
}

function asFeePayer(text: string) {
  try {
    readAddress(text)
  } catch (problem) {
    throw sdkError('invalid address', `Invalid fee payer address (${String(problem)})`)
  }
}

/** The SDK prints the bytes of these addresses as a string. */
const rawAddress = (address: string) => Buffer.from(bytesOf(address)).toString()

/** The SDK panics if the granter is not an address. */
function asGranter(text: string) {
  try {
    return readAddress(text)
  } catch (problem) {
    throw sdkError('panic', String(problem))
  }
}

function accountOf(store: Context['store'], address: string) {
  const account = readAccount(store, address)
  if (!account) throw sdkError('unknown address', `account ${address} does not exist`)
  return account
}
