import { keySigner } from '../../signing/key-signer'
import { signBytesOf } from '../../signing/sign-bytes'
import { field, joined } from '../../testing/transaction'
import { decodeTx } from '../../signing/tx'
import { grantMessage, readGrant, revokeMessage } from './grant'
import { encodeSignDoc, encodeUnsigned, signDirect, type GrantTransaction } from './grant-transaction'
import { isSignedBy } from '../../signing/public-key'

const signer = keySigner('07'.repeat(32), 'cosmos')
const { publicKey: bytes, address: granter } = signer
const { address: grantee } = keySigner('08'.repeat(32), 'cosmos')
const grant = { granter, grantee, coin: { denom: 'uatom', amount: 5_000n }, expiresAt: 1_800_000_600n }
const text = (value: string) => Buffer.from(value)
const parties = joined(field(1, text(granter)), field(2, text(grantee)))

describe('a grant', () => {
  test('allows bank sends, one sum of fees, and some minutes, byte for byte as x/feegrant defines it', () => {
    const basic = joined(
      field(1, joined(field(1, text('uatom')), field(2, text('5000')))),
      field(2, field(1, Number(grant.expiresAt))),
    )
    const allowance = joined(
      field(1, joined(field(1, text('/cosmos.feegrant.v1beta1.BasicAllowance')), field(2, basic))),
      field(2, text('/cosmos.bank.v1beta1.MsgSend')),
    )
    const { typeUrl, value } = grantMessage(grant)
    expect(typeUrl).toBe('/cosmos.feegrant.v1beta1.MsgGrantAllowance')
    expect(value).toEqual(
      joined(
        parties,
        field(3, joined(field(1, text('/cosmos.feegrant.v1beta1.AllowedMsgAllowance')), field(2, allowance))),
      ),
    )
  })

  test('is never one of nothing, which would have no limit', () => {
    for (const amount of [0n, -1n])
      expect(() => grantMessage({ ...grant, coin: { denom: 'uatom', amount } })).toThrow('needs a limit')
  })

  test('is read back from its message, and from no other', () => {
    expect(readGrant(grantMessage(grant))).toEqual(grant)
    expect(readGrant(revokeMessage(grant))).toBeUndefined()
    expect(readGrant({ typeUrl: grantMessage(grant).typeUrl, value: parties })).toBeUndefined()
  })

  test('is taken back byte for byte as x/feegrant defines it', () => {
    const { typeUrl, value } = revokeMessage(grant)
    expect(typeUrl).toBe('/cosmos.feegrant.v1beta1.MsgRevokeAllowance')
    expect(value).toEqual(parties)
  })
})

describe('a transaction of our own', () => {
  const own = {
    messages: [grantMessage(grant)],
    gas: 90_000n,
    fee: { denom: 'uatom', amount: 2_250n },
    chainId: 'tollgate-devnet-1',
    accountNumber: 3n,
    sequence: 12n,
  }
  const sign = (content: GrantTransaction) => signDirect({ bytes: encodeSignDoc(signer, content) }, signer)
  const decoded = (raw: string) => decodeTx(Buffer.from(raw, 'base64'))!

  test('is signed for its chain, account and sequence, in the one encoding there is of it', async () => {
    const { raw, hash } = await sign(own)
    const tx = decoded(raw)
    expect(tx).toMatchObject({
      hash,
      isCanonical: true,
      fee: { coins: [own.fee], gas: own.gas, payer: '', granter: '' },
      signers: [{ mode: 'direct', sequence: own.sequence }],
      memo: '',
      timeoutHeight: 0n,
    })
    const isSigned = (place: { chainId: string; accountNumber: bigint }) =>
      isSignedBy({ type: 'secp256k1', bytes }, signBytesOf(tx, place)!, tx.signatures[0]!)
    expect(isSigned(own)).toBe(true)
    expect(isSigned({ ...own, accountNumber: 4n })).toBe(false)
    expect(isSigned({ ...own, chainId: 'cosmoshub-4' })).toBe(false)
  })

  test('is the same each time it is signed', async () => expect(await sign(own)).toEqual(await sign(own)))

  test('offers no coins where its fee is zero', async () => {
    const { raw } = await sign({ ...own, fee: { denom: 'uatom', amount: 0n } })
    expect(decoded(raw).fee.coins).toEqual([])
  })

  test('is simulated at its true length, under a signature that is worth nothing', async () => {
    const signed = Buffer.from((await sign(own)).raw, 'base64')
    const simulated = encodeUnsigned(signer, own)
    expect(simulated).toHaveLength(signed.length)
    expect(decodeTx(simulated)?.signatures).toEqual([new Uint8Array(64)])
  })
})
