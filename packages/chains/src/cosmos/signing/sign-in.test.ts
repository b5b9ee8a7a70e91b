import { randomBytes } from 'node:crypto'
import { makeSignDoc, serializeSignDoc, Secp256k1Wallet, type StdFee } from '@cosmjs/amino'
import { Secp256k1, Secp256k1Signature } from '@cosmjs/crypto'
import { toBech32 } from '@cosmjs/encoding'
import { Wallet } from 'ethers'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { addressOf } from '../address'
import { verifySignIn } from './sign-in'
import { draftOf, encodeDraft, signBytesFor, walletOf, type TestWallet } from '../testing/transaction'

const wallets = {
  secp256k1: walletOf(randomBytes(32)),
  ethsecp256k1: walletOf(randomBytes(32), 'ethsecp256k1', 'inj'),
}
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const textOf = ({ address }: TestWallet) =>
  `Tollgate wants you to sign in.\n\nAddress: ${address}\nNonce: 4d6f2b1c9e8a7f30\nIssued At: 2026-11-22T11:00:00.000Z`

const dataOf = (text: string) => base64(Buffer.from(text, 'utf8'))
const messageOf = (signer: string, text: string) => ({
  type: 'sign/MsgSignData',
  value: { signer, data: dataOf(text) },
})
const noFee: StdFee = { gas: '0', amount: [] }

type Doc = Parameters<typeof makeSignDoc>
/** The sign doc of ADR-036, by a library of wallets, but for the changes. */
const docOf = (
  wallet: TestWallet,
  {
    msgs,
    fee,
    chainId,
    memo,
    account,
    sequence,
  }: Partial<{
    msgs: Doc[0]
    fee: StdFee
    chainId: string
    memo: string
    account: number
    sequence: number
  }> = {},
) =>
  serializeSignDoc(
    makeSignDoc(
      msgs ?? [messageOf(wallet.address, textOf(wallet))],
      fee ?? noFee,
      chainId ?? '',
      memo,
      account ?? 0,
      sequence ?? 0,
    ),
  )

/** The same JSON with its members in the other order. */
const reversed = (json: Uint8Array) =>
  Buffer.from(
    JSON.stringify(
      Object.fromEntries(Object.entries(JSON.parse(Buffer.from(json).toString()) as object).reverse()),
    ),
  )

/** What the wallet's holder sends, with its signature over `signBytes`. */
const proofOf = (wallet: TestWallet, signBytes: Uint8Array = docOf(wallet)) => ({
  message: textOf(wallet),
  address: wallet.address,
  pubkey: base64(wallet.publicKey),
  signature: base64(wallet.sign(signBytes)),
})

describe.each(['secp256k1', 'ethsecp256k1'] as const)('verifySignIn, with a key of %s', (type) => {
  const wallet = wallets[type]
  const other = walletOf(randomBytes(32), type, type === 'secp256k1' ? 'cosmos' : 'inj')
  const proof = proofOf(wallet)

  test('takes the wallet’s own signature, under any prefix that it is made for', () => {
    expect(verifySignIn(proof)).toBe(true)
    for (const prefix of ['cosmos', 'osmo', 'inj', 'noble']) {
      const elsewhere = { ...wallet, address: addressOf({ type, bytes: wallet.publicKey }, prefix) }
      expect(verifySignIn(proofOf(elsewhere))).toBe(true)
    }
  })

  test('refuses another’s signature, key and address', () => {
    expect(verifySignIn({ ...proof, signature: proofOf(other, docOf(wallet)).signature })).toBe(false)
    expect(verifySignIn({ ...proof, pubkey: base64(other.publicKey) })).toBe(false)
    expect(verifySignIn({ ...proof, address: other.address })).toBe(false)
    const { pubkey, signature } = proofOf(other, docOf(wallet))
    expect(verifySignIn({ ...proof, pubkey, signature })).toBe(false)
  })

  test('refuses the same bytes under another prefix, which is another wallet', () => {
    const elsewhere = addressOf({ type, bytes: wallet.publicKey }, 'osmo')
    expect(verifySignIn({ ...proof, address: elsewhere })).toBe(false)
  })

  test('refuses the address that the other kind of chain makes of the same key', () => {
    const kind = type === 'secp256k1' ? 'ethsecp256k1' : 'secp256k1'
    const address = addressOf({ type: kind, bytes: wallet.publicKey }, 'cosmos')
    expect(address).not.toBe(addressOf({ type, bytes: wallet.publicKey }, 'cosmos'))
    expect(verifySignIn(proofOf({ ...wallet, address }))).toBe(false)
  })

  test('refuses the digest of the other kind of chain', () => {
    const kind = type === 'secp256k1' ? 'ethsecp256k1' : 'secp256k1'
    const signature = base64(walletOf(wallet.privateKey, kind).sign(docOf(wallet)))
    expect(verifySignIn({ ...proof, signature })).toBe(false)
  })

  const rs = Buffer.from(proof.signature, 'base64')
  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const highS = (ORDER - BigInt(`0x${rs.toString('hex', 32)}`)).toString(16).padStart(64, '0')
  const uncompressed = Secp256k1.uncompressPubkey(wallet.publicKey)

  test.each([
    ['the high-s twin', base64(Buffer.concat([rs.subarray(0, 32), Buffer.from(highS, 'hex')]))],
    ['DER', base64(Secp256k1Signature.fromFixedLength(rs).toDer())],
    ['65 bytes, with a recovery id of 0', base64(Buffer.concat([rs, Buffer.of(0)]))],
    ['65 bytes, with a recovery id of 27', base64(Buffer.concat([rs, Buffer.of(27)]))],
    ['63 bytes', base64(rs.subarray(1))],
    ['zeros', base64(Buffer.alloc(64))],
    ['hex', rs.toString('hex')],
    ['hex with 0x', `0x${rs.toString('hex')}`],
    ['nothing', ''],
    ['JSON', JSON.stringify({ signature: proof.signature })],
  ])('refuses a signature that is %s', (_, signature) =>
    expect(verifySignIn({ ...proof, signature })).toBe(false),
  )

  test.each([
    ['missing', undefined],
    ['empty', ''],
    ['uncompressed', base64(uncompressed)],
    ['its x alone', base64(wallet.publicKey.subarray(1))],
    ['amino-encoded', base64(Buffer.concat([Buffer.from('eb5ae98721', 'hex'), wallet.publicKey]))],
    ['protobuf-encoded', base64(Buffer.concat([Buffer.of(0x0a, 33), wallet.publicKey]))],
    ['hex', Buffer.from(wallet.publicKey).toString('hex')],
    ['no point', base64(Buffer.from(`02${'0'.repeat(63)}5`, 'hex'))],
    ['zeros', base64(Buffer.alloc(33))],
    ['its negative', base64(Buffer.from(wallet.publicKey).fill(wallet.publicKey[0]! ^ 1, 0, 1))],
    ['a word', 'cosmos'],
  ])('refuses a public key that is %s', (_, pubkey) => {
    const { pubkey: own, ...rest } = proof
    expect(verifySignIn({ ...rest, pubkey: own })).toBe(true)
    expect(verifySignIn(pubkey === undefined ? rest : { ...rest, pubkey })).toBe(false)
  })

  test.each([
    ['blanks around it', (text: string) => ` ${text}\n`],
    ['a line break in it', (text: string) => `${text.slice(0, 20)}\n${text.slice(20)}`],
    ['more padding', (text: string) => `${text}=`],
    ['text after it', (text: string) => `${text}AAAA`],
    ['a character that is none of base64', (text: string) => `${text.slice(0, 8)}*${text.slice(8)}`],
  ])('refuses base64 with %s, in signature and public key', (_, spoil) => {
    expect(verifySignIn({ ...proof, signature: spoil(proof.signature) })).toBe(false)
    expect(verifySignIn({ ...proof, pubkey: spoil(proof.pubkey) })).toBe(false)
  })

  test('refuses base64 without its padding, and with bits that say nothing', () => {
    expect(proof.signature).toMatch(/==$/)
    expect(verifySignIn({ ...proof, signature: proof.signature.replace(/=+$/, '') })).toBe(false)
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const last = letters.indexOf(proof.signature.at(-3)!)
    const twin = `${proof.signature.slice(0, -3)}${letters[last + 1]!}==`
    expect(Buffer.from(twin, 'base64')).toEqual(rs)
    expect(verifySignIn({ ...proof, signature: twin })).toBe(false)
  })

  test('refuses base64url', () => {
    let url = proof
    while (!/[+/]/.test(url.signature)) url = proofOf({ ...wallet, ...walletOf(randomBytes(32), type) })
    expect(verifySignIn(url)).toBe(true)
    const signature = url.signature.replaceAll('+', '-').replaceAll('/', '_')
    expect(verifySignIn({ ...url, signature })).toBe(false)
  })

  test.each([
    ['nothing', ''],
    ['an EVM address', '0x036CbD53842c5426634e7929541eC2318f3dCF7e'],
    ['an address in letters of both cases', `C${wallet.address.slice(1)}`],
    ['an address with another checksum', wallet.address.replace(/.$/, (last) => (last === 'q' ? 'p' : 'q'))],
    ['an address that has no key', toBech32('cosmos', Buffer.alloc(32, 1))],
    ['a name of an object', '__proto__'],
  ])('refuses %s', (_, address) => expect(verifySignIn({ ...proof, address })).toBe(false))

  test('refuses a text that is none: half a character is signed as any other half is', () => {
    const message = 'half a fox \ud83e'
    const replaced = Buffer.from(message, 'utf8').toString('utf8')
    const signature = proofOf(wallet, docOf(wallet, { msgs: [messageOf(wallet.address, message)] })).signature
    expect(verifySignIn({ ...proof, message: replaced, signature })).toBe(true)
    expect(verifySignIn({ ...proof, message, signature })).toBe(false)
  })

  describe('refuses what the wallet signed for another purpose:', () => {
    const text = textOf(wallet)
    const send = {
      type: 'cosmos-sdk/MsgSend',
      value: {
        from_address: wallet.address,
        to_address: other.address,
        amount: [{ denom: 'uatom', amount: '1' }],
      },
    }
    const own = messageOf(wallet.address, text)
    const payment = draftOf(wallet.address, other.address, { memo: text })
    const amino = { ...payment, mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON }
    const direct = encodeDraft(wallet, payment)
    test.each<[string, Uint8Array]>([
      ['a payment, signed as DIRECT, with the text as its memo', signBytesFor(payment, direct)],
      ['a payment, signed as LEGACY_AMINO_JSON', signBytesFor(amino, encodeDraft(wallet, amino))],
      ['a payment for no chain and without fee', docOf(wallet, { msgs: [send] })],
      ['a payment beside the text', docOf(wallet, { msgs: [own, send] })],
      ['the text twice', docOf(wallet, { msgs: [own, own] })],
      ['no message', docOf(wallet, { msgs: [] })],
      ['a text for a chain', docOf(wallet, { chainId: 'cosmoshub-4' })],
      ['a text of another account', docOf(wallet, { account: 1 })],
      ['a text of another sequence', docOf(wallet, { sequence: 1 })],
      ['a text with a memo', docOf(wallet, { memo: 'and more' })],
      ['a text with gas', docOf(wallet, { fee: { gas: '1', amount: [] } })],
      ['a text with a fee', docOf(wallet, { fee: { gas: '0', amount: [{ denom: 'uatom', amount: '0' }] } })],
      ['a text with a granter', docOf(wallet, { fee: { ...noFee, granter: wallet.address } })],
      ['a text of another signer', docOf(wallet, { msgs: [messageOf(other.address, text)] })],
      [
        'a text that is not in base64',
        docOf(wallet, { msgs: [{ ...own, value: { ...own.value, data: text } }] }),
      ],
      ['a message of another type', docOf(wallet, { msgs: [{ ...own, type: 'sign/MsgSignText' }] })],
      ['the sign doc in another order', reversed(docOf(wallet))],
      ['the bare text', Buffer.from(text)],
      ['the text in base64', Buffer.from(dataOf(text))],
      [
        'the text as Ethereum’s wallets sign it',
        Buffer.from(`\x19Ethereum Signed Message:\n${text.length}${text}`),
      ],
    ])('%s', (_, signBytes) => expect(verifySignIn(proofOf(wallet, signBytes))).toBe(false))
  })
})

test('an EIP-191 signature of the same key is no sign-in by ADR-036', async () => {
  const { privateKey, address, publicKey } = wallets.ethsecp256k1
  const message = textOf(wallets.ethsecp256k1)
  const signed = await new Wallet(`0x${Buffer.from(privateKey).toString('hex')}`).signMessage(message)
  for (const hex of [signed.slice(2), signed.slice(2, 130)]) {
    const signature = Buffer.from(hex, 'hex').toString('base64')
    expect(verifySignIn({ message, address, pubkey: base64(publicKey), signature })).toBe(false)
  }
})

test.each(['', 'ä, 字, 🦊', '<a href="x?y=1&z=2"> & "', '0xabcdef', 'a'.repeat(4096), 'with\r\nand \0'])(
  'takes what a wallet of CosmJS signs: %j',
  async (message) => {
    const wallet = await Secp256k1Wallet.fromKey(randomBytes(32), 'juno')
    const [{ address } = { address: '' }] = await wallet.getAccounts()
    const { signature } = await wallet.signAmino(
      address,
      makeSignDoc([messageOf(address, message)], noFee, '', '', 0, 0),
    )
    const pubkey = signature.pub_key.value as string
    expect(verifySignIn({ message, address, pubkey, signature: signature.signature })).toBe(true)
  },
)
