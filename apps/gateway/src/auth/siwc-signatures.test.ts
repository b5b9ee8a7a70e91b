import { makeSignDoc, serializeSignDoc } from '@cosmjs/amino'
import { ExtendedSecp256k1Signature } from '@cosmjs/crypto'
import { fromBase64, toBase64, toUtf8 } from '@cosmjs/encoding'
import { closeAll } from '@tollgate/testing'
import { cosmosPlanOf } from '../testing/catalog'
import { adr036, type CosmosWallet } from '../testing/cosmos-wallet'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'

const osmosis = cosmosPlanOf({ id: 2, plan_name: 'Osmosis' })

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(osmosis)
  await gateway.reapply()
})
afterAll(closeAll)

const login = async (body: object) => outcomeOf(await gateway.api.post('/auth/login').send(body))
const walletOf = (options = {}) => gateway.cosmosWallet({ plan: osmosis, ...options })

const signedIn = [200, undefined]
const notSigned = [401, 'INVALID_SIGNATURE']

describe.each(['secp256k1', 'ethsecp256k1'] as const)('with a key of %s, a signature is refused', (kind) => {
  async function refused(spoil: (body: Login, wallet: CosmosWallet) => Partial<Login>) {
    const wallet = walletOf({ kind })
    const body = await wallet.login()
    const spoiled = { ...body, ...spoil(body, wallet) }
    expect(spoiled).not.toEqual(body)
    expect(await login(spoiled)).toEqual(notSigned)
    expect(await login(body)).toEqual(signedIn)
  }
  type Login = Record<'message' | 'address' | 'signature' | 'pubkey', string>
  const other = () => walletOf({ kind })

  test('of another key, with that key', () =>
    refused(({ message, address }) => {
      const { publicKey, sign } = other()
      return { pubkey: toBase64(publicKey), signature: toBase64(sign(adr036(address, message))) }
    }))

  test("of another key, with the wallet's key", () =>
    refused(({ message, address }) => ({ signature: toBase64(other().sign(adr036(address, message))) })))

  test('with a public key of another address', () => refused(() => ({ pubkey: toBase64(other().publicKey) })))

  test.each<[string, (pubkey: Uint8Array) => string]>([
    ['with a public key in hex', (key) => Buffer.from(key).toString('hex')],
    ['with half a public key', (key) => toBase64(key.subarray(1))],
    ['with a public key of another point', (key) => toBase64(Buffer.from(key).fill(key[0]! ^ 1, 0, 1))],
    ['with an invalid public key', () => 'cosmos'],
  ])('%s', (_, change) => refused((_body, { publicKey }) => ({ pubkey: change(publicKey) })))

  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const highTwin = (rs: Uint8Array) => {
    const bytes = Buffer.from(rs)
    const s = (ORDER - BigInt(`0x${bytes.toString('hex', 32)}`)).toString(16).padStart(64, '0')
    return Buffer.concat([bytes.subarray(0, 32), Buffer.from(s, 'hex')])
  }
  const der = (rs: Uint8Array) =>
    ExtendedSecp256k1Signature.fromFixedLength(Buffer.concat([rs, Buffer.of(0)])).toDer()

  test.each<[string, (rs: Uint8Array) => string]>([
    ['in its high-s twin', (rs) => toBase64(highTwin(rs))],
    ['in DER', (rs) => toBase64(der(rs))],
    ['of 65 bytes', (rs) => toBase64(Buffer.concat([rs, Buffer.of(0)]))],
    ['of 63 bytes', (rs) => toBase64(rs.subarray(1))],
    ['in hex', (rs) => Buffer.from(rs).toString('hex')],
    ['in base64 with a blank', (rs) => ` ${toBase64(rs)}`],
    ['of zeros', () => toBase64(new Uint8Array(64))],
  ])('%s', (_, change) => refused(({ signature }) => ({ signature: change(fromBase64(signature)) })))

  const send = (address: string) => ({
    type: 'cosmos-sdk/MsgSend',
    value: {
      from_address: address,
      to_address: osmosis.pay_to,
      amount: [{ denom: 'uosmo', amount: osmosis.amount }],
    },
  })
  const fee = { gas: '100000', amount: [{ denom: 'uosmo', amount: '250' }] }

  test.each<[string, (message: string, address: string) => Uint8Array]>([
    ['over another text', (message, address) => adr036(address, `${message} `)],
    ['over the text of another signer', (message) => adr036(other().address, message)],
    [
      'over a payment that has the text as its memo',
      (message, address) => serializeSignDoc(makeSignDoc([send(address)], fee, 'osmosis-1', message, 7, 3)),
    ],
    [
      'over a payment for no chain',
      (_, address) => serializeSignDoc(makeSignDoc([send(address)], { gas: '0', amount: [] }, '', '', 0, 0)),
    ],
    [
      'over the text for a chain',
      (message, address) =>
        toUtf8(
          new TextDecoder()
            .decode(adr036(address, message))
            .replace('"chain_id":""', '"chain_id":"osmosis-1"'),
        ),
    ],
    ['over the bare text', (message) => toUtf8(message)],
    [
      'over the text as Ethereum wallets sign it',
      (message) => toUtf8(`\x19Ethereum Signed Message:\n${message.length}${message}`),
    ],
  ])('%s', (_, bytesOf) =>
    refused(({ message, address }, { sign }) => ({ signature: toBase64(sign(bytesOf(message, address))) })),
  )
})
