import { Secp256k1HdWallet, Secp256k1Wallet } from '@cosmjs/amino'
import { DirectSecp256k1Wallet, type OfflineSigner } from '@cosmjs/proto-signing'
import { StargateClient } from '@cosmjs/stargate'
import { randomBytes } from 'node:crypto'
import { fundCosmosWallet, startCosmos } from '@tollgate/cosmos-devchain'
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { type Offer } from '../../payments/offer'
import { type SigningContext, type Wallet } from '../wallet'
import { cosmosWallet } from './cosmos-wallet'
import { type CosmosSigner, type CosmosWalletInput } from './signer'

const MNEMONIC = 'test test test test test test test test test test test junk'
const CHAIN_ID = 'tollgate-devnet-1'
const PAY_TO = 'cosmos194au5yyx8ft6kcr99stg7rspud2y2pc3qhj5c4'
const NOW = 1_800_000_000
const FEE_PAYER = 'cosmos1kklh64uq03ult2wmua8pcgq25kyu3nwvqekrxk'

let chain: Awaited<ReturnType<typeof startCosmos>>
let client: StargateClient
beforeAll(async () => {
  chain = await startCosmos()
  client = await StargateClient.connect(chain.rpcUrl)
})
afterAll(async () => {
  client.disconnect()
  await chain.stop()
})

const offerOf = (changes: Partial<Offer> = {}): Offer => ({
  x402Version: 2,
  scheme: 'exact',
  network: `cosmos:${CHAIN_ID}`,
  asset: 'uatom',
  payTo: PAY_TO,
  amount: 10_000n,
  maxTimeoutSeconds: 60,
  extra: {},
  entry: {},
  ...changes,
})

const context = (url = chain.rpcUrl) => ({
  now: () => NOW,
  clockSkew: 0,
  nodeUrl: () => Promise.resolve(url),
  stops: { closed: new AbortController().signal },
})

const signPayment = async (wallet: Wallet, offer: Offer, given: SigningContext) =>
  (await wallet.draftPayment(offer, given)).sign()

const recognize = (input: unknown): Wallet => {
  const wallet = cosmosWallet(input)
  if (!wallet) throw new Error('Not recognized')
  return wallet
}

type Modes = Record<'direct' | 'amino' | 'both', CosmosSigner>

/** A wallet of each kind with one new key, as CosmJS has them, and as Keplr and Leap do. */
async function newSigners(money = 0n): Promise<Modes & { address: string }> {
  const key = randomBytes(32)
  const direct: OfflineSigner = await DirectSecp256k1Wallet.fromKey(key, 'cosmos')
  const amino: OfflineSigner = await Secp256k1Wallet.fromKey(key, 'cosmos')
  const both: OfflineSigner = {
    getAccounts: () => direct.getAccounts(),
    signDirect: (...args) => direct.signDirect(...args),
    signAmino: (...args) => amino.signAmino(...args),
  }
  const [{ address } = { address: '' }] = await direct.getAccounts()
  if (money > 0n) await fundCosmosWallet(chain.rpcUrl, address, `${money}uatom`)
  return { direct, amino, both, address }
}

async function call(method: string, ...params: unknown[]): Promise<unknown> {
  const answer = await fetch(chain.rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return ((await answer.json()) as { result?: unknown }).result
}

type Payment = { txBase64: string; payer: string; recipient: string; amount: string; denom: string }
const paymentIn = (payload: Record<string, unknown>) => payload['payment'] as Payment

const bytesOf = (payload: Record<string, unknown>) =>
  new Uint8Array(Buffer.from(paymentIn(payload).txBase64, 'base64'))

/** Into a block. */
async function broadcast(payload: Record<string, unknown>): Promise<void> {
  const hash = await client.broadcastTxSync(bytesOf(payload))
  await call('dev_mine', '1')
  expect(await client.getTx(hash)).toMatchObject({ code: 0 })
}

function decode(payload: Record<string, unknown>) {
  const { bodyBytes, authInfoBytes } = TxRaw.decode(bytesOf(payload))
  const { messages, timeoutHeight } = TxBody.decode(bodyBytes)
  const { fee, signerInfos } = AuthInfo.decode(authInfoBytes)
  return { sends: messages.map(({ value }) => MsgSend.decode(value)), timeoutHeight, fee, signerInfos }
}

describe('a wallet is recognized:', () => {
  const getAccounts = () => Promise.resolve([])
  const sign = () => Promise.reject(new Error('unused'))
  test.each<[string, unknown, boolean]>([
    ['a direct signer', { getAccounts, signDirect: sign }, true],
    ['an amino signer', { getAccounts, signAmino: sign }, true],
    ['a signer of both', { getAccounts, signDirect: sign, signAmino: sign }, true],
    ['a signer with more', { signer: { getAccounts, signDirect: sign }, gasPrice: '0.025uatom' }, true],
    ['accounts alone', { getAccounts }, false],
    ['signatures alone', { signDirect: sign, signAmino: sign }, false],
    ['an EIP-1193 provider', { request: sign }, false],
    ['a signer of another family', { signer: { getAddress: sign } }, false],
    ['nothing', undefined, false],
    ['null', null, false],
    ['text', 'cosmos', false],
  ])('%s', (_, input, expected) => {
    expect(cosmosWallet(input)?.ecosystem).toBe(expected ? 'cosmos' : undefined)
  })

  test('with a price of gas, which must be one', () => {
    const signer = { getAccounts, signDirect: sign }
    expect(() => cosmosWallet({ signer, gasPrice: 'cheap' })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
    )
  })
})

describe('a text is signed by ADR-036', () => {
  const text = 'Tollgate wants you to sign in – “é漢”.'

  test.each(['amino', 'both'] as const)('by a signer of %s', async (mode) => {
    const signers = await newSigners()
    const data = Buffer.from(text).toString('base64')
    const { signature } = await signers.amino.signAmino!(signers.address, {
      chain_id: '',
      account_number: '0',
      sequence: '0',
      fee: { gas: '0', amount: [] },
      msgs: [{ type: 'sign/MsgSignData', value: { signer: signers.address, data } }],
      memo: '',
    })
    const wallet = recognize(signers[mode])
    expect(await wallet.signText(text)).toEqual({
      signature: signature.signature,
      pubkey: signature.pub_key.value,
    })
    expect(await wallet.address()).toBe(signers.address)
  })

  test('by signArbitrary, if it is given', async () => {
    const { direct, address } = await newSigners()
    const asked: string[] = []
    const signArbitrary: CosmosWalletInput['signArbitrary'] = (...args) => {
      asked.push(...args)
      return Promise.resolve({ signature: 'c2ln', pub_key: { value: 'a2V5' } })
    }
    const signed = await recognize({ signer: direct, signArbitrary }).signText(text)
    expect([signed, asked]).toEqual([{ signature: 'c2ln', pubkey: 'a2V5' }, [address, text]])
  })

  test('and by no direct signer alone, whose error says what to pass', async () => {
    const { direct } = await newSigners()
    await expect(recognize(direct).signText(text)).rejects.toMatchObject({
      code: 'WALLET_UNSUPPORTED',
      message: expect.stringMatching(/signAmino.*\{ signer, signArbitrary \}/) as string,
    })
  })

  test('unless the user refuses', async () => {
    const { amino } = await newSigners()
    const signAmino = () => Promise.reject(new Error('Request rejected'))
    const refusing = { getAccounts: () => amino.getAccounts(), signAmino }
    await expect(recognize(refusing).signText(text)).rejects.toMatchObject({
      code: 'SIGNATURE_REFUSED',
      message: expect.stringContaining('Request rejected') as string,
    })
  })
})

describe('an offer', () => {
  test('can be paid if it is exact, on a Cosmos chain, and of the prefix of an account', async () => {
    const wallet = recognize(await Secp256k1HdWallet.fromMnemonic(MNEMONIC, { prefix: 'osmo' }))
    const osmo = offerOf({ payTo: PAY_TO.replace('cosmos', 'osmo') })
    const answers = () => [
      wallet.canPay(osmo),
      wallet.canPay({ ...osmo, scheme: 'upto' }),
      wallet.canPay({ ...osmo, network: 'eip155:84532' }),
      wallet.canPay({ ...osmo, asset: 'no denomination' }),
    ]
    expect(answers()).toEqual([true, false, false, false])
    await wallet.address()
    expect(answers()).toEqual([true, false, false, false])
    expect(wallet.canPay(offerOf())).toBe(false)
    await expect(signPayment(wallet, offerOf(), context())).rejects.toMatchObject({
      code: 'NO_PAYABLE_OFFER',
    })
  })

  test('is paid by the account that signs in, and by no other of the signer', async () => {
    const [osmo, cosmos] = await Promise.all(
      ['osmo', 'cosmos'].map((prefix) => Secp256k1HdWallet.fromMnemonic(MNEMONIC, { prefix })),
    )
    const getAccounts = async () => [...(await osmo!.getAccounts()), ...(await cosmos!.getAccounts())]
    const wallet = recognize({ getAccounts, signAmino: () => Promise.reject(new Error('unused')) })
    expect(await wallet.address()).toMatch(/^osmo1/)
    expect(wallet.canPay(offerOf())).toBe(false)
  })

  test('asks for the accounts once, and again if the user refused', async () => {
    const { direct, address } = await newSigners()
    let calls = 0
    const getAccounts = () => (calls++ === 0 ? Promise.reject(new Error('Locked')) : direct.getAccounts())
    const wallet = recognize({ getAccounts, signDirect: () => Promise.reject(new Error('unused')) })
    await expect(wallet.address()).rejects.toMatchObject({ code: 'SIGNATURE_REFUSED' })
    expect(await Promise.all([wallet.address(), wallet.address()])).toEqual([address, address])
    expect(calls).toBe(2)
  })
})

describe('a payment', () => {
  test.each(['direct', 'amino', 'both'] as const)('by a signer of %s moves its amount', async (mode) => {
    const signers = await newSigners(100_000n)
    const [before, height] = [await client.getBalance(PAY_TO, 'uatom'), await client.getHeight()]
    const { payload, validUntil } = await signPayment(recognize(signers[mode]), offerOf(), context())

    const { sends, timeoutHeight, fee, signerInfos } = decode(payload)
    expect(sends).toEqual([
      { fromAddress: signers.address, toAddress: PAY_TO, amount: [{ denom: 'uatom', amount: '10000' }] },
    ])
    expect(fee).toEqual({
      amount: [{ denom: 'uatom', amount: '3750' }],
      gasLimit: 150_000n,
      payer: '',
      granter: '',
    })
    expect(signerInfos[0]?.modeInfo?.single?.mode).toBe(mode === 'amino' ? 127 : 1)
    expect(Number(timeoutHeight) - height).toBeGreaterThanOrEqual(30)
    expect(Number(timeoutHeight) - height).toBeLessThan(40)
    expect(validUntil).toBe(NOW + 300)
    expect(payload).toMatchObject({
      version: 1,
      chainId: CHAIN_ID,
      payment: { amount: '10000', denom: 'uatom', payer: signers.address, recipient: PAY_TO, sequence: '0' },
    })

    await broadcast(payload)
    const after = await client.getBalance(PAY_TO, 'uatom')
    expect(BigInt(after.amount) - BigInt(before.amount)).toBe(10_000n)
    expect((await client.getBalance(signers.address, 'uatom')).amount).toBe('86250')
  })

  test('is signed under the next sequence, so that of two only one happens', async () => {
    const { both } = await newSigners(100_000n)
    const wallet = recognize(both)
    const [one, two] = [
      await signPayment(wallet, offerOf(), context()),
      await signPayment(wallet, offerOf({ amount: 10_001n }), context()),
    ]
    await broadcast(one.payload)
    await expect(broadcast(two.payload)).rejects.toThrow(/sequence/)
    const next = await signPayment(wallet, offerOf(), context())
    await broadcast(next.payload)
  })

  test('ends with its timeout height', async () => {
    const { both } = await newSigners(100_000n)
    const { payload } = await signPayment(recognize(both), offerOf(), context())
    await call('dev_mine', '31')
    await expect(broadcast(payload)).rejects.toThrow(/timeout height/)
  })

  test.each(['direct', 'amino'] as const)(
    'in %s leaves its fee to the account that is offered',
    async (mode) => {
      const signers = await newSigners(10_000n)
      const feePayer = 'cosmos1kklh64uq03ult2wmua8pcgq25kyu3nwvqekrxk'
      const wallet = recognize(signers[mode])
      const { payload } = await signPayment(wallet, offerOf({ extra: { feePayer } }), context())
      expect(decode(payload).fee).toEqual({
        amount: [{ denom: 'uatom', amount: '4500' }],
        gasLimit: 180_000n,
        payer: '',
        granter: feePayer,
      })
    },
  )

  test.each([
    ['amino', { payer: FEE_PAYER, granter: '' }],
    ['both', { payer: FEE_PAYER, granter: '' }],
    ['direct', { payer: '', granter: FEE_PAYER }],
  ] as const)(
    'in %s names the account that signs too, if the wallet can sign that',
    async (mode, expected) => {
      const signers = await newSigners(10_000n)
      const extra = { feePayer: FEE_PAYER, feePayerSigns: true }
      const signed = await signPayment(recognize(signers[mode]), offerOf({ extra }), context())
      expect(signed.fee).toBeUndefined()
      expect(decode(signed.payload).fee).toMatchObject({ gasLimit: 180_000n, ...expected })
    },
  )

  test('pays its own fee if the fee payer is the payer', async () => {
    const { both, address } = await newSigners(10_000n)
    const extra = { feePayer: address.toUpperCase() }
    const { payload } = await signPayment(recognize(both), offerOf({ extra }), context())
    expect(decode(payload).fee?.granter).toBe('')
  })

  test('of an account that does not exist is refused, because it has no balance', async () => {
    const { both, address } = await newSigners()
    await expect(signPayment(recognize(both), offerOf(), context())).rejects.toMatchObject({
      code: 'PAYMENT_REFUSED',
      message: expect.stringMatching(
        new RegExp(`${address} has no account on ${CHAIN_ID}.*no balance`),
      ) as string,
    })
  })

  test('is signed for no other chain than that of the node', async () => {
    const { both } = await newSigners(10_000n)
    const offer = offerOf({ network: 'cosmos:cosmoshub-4' })
    await expect(signPayment(recognize(both), offer, context())).rejects.toMatchObject({
      code: 'RPC_ERROR',
      message: `The node of cosmoshub-4 is on the chain ${CHAIN_ID}`,
    })
  })
})

describe('the fee of a payment', () => {
  afterEach(async () => {
    await call('dev_setMinimumGasPrice', '0.025uatom')
    await call('dev_setServices', true)
  })

  test('is known before anything is signed, if the payer bears it', async () => {
    const { both } = await newSigners(10_000_000n)
    const wallet = recognize(both)
    const { fee } = await wallet.draftPayment(offerOf(), context())
    expect(fee).toEqual({ asset: 'uatom', amount: 3_750n })
    const feePayer = 'cosmos1kklh64uq03ult2wmua8pcgq25kyu3nwvqekrxk'
    const granted = await wallet.draftPayment(offerOf({ extra: { feePayer } }), context())
    expect(granted.fee).toBeUndefined()
  })

  test('is bounded while the node alone sets it', async () => {
    const { both } = await newSigners(10_000_000n)
    await call('dev_setMinimumGasPrice', '0.7uatom')
    await expect(signPayment(recognize(both), offerOf(), context())).rejects.toMatchObject({
      code: 'LIMIT_REACHED',
      message: expect.stringContaining('105000uatom') as string,
    })
    const feePayer = 'cosmos1kklh64uq03ult2wmua8pcgq25kyu3nwvqekrxk'
    const granted = await signPayment(recognize(both), offerOf({ extra: { feePayer } }), context())
    expect(decode(granted.payload).fee?.amount).toEqual([{ denom: 'uatom', amount: '126000' }])

    const wallet = recognize({ signer: both, gasPrice: '0.7uatom' })
    const { payload } = await signPayment(wallet, offerOf(), context())
    await broadcast(payload)
  })

  test('needs a price, from a node or from the app', async () => {
    const { both } = await newSigners(100_000n)
    await call('dev_setServices', false)
    await expect(signPayment(recognize(both), offerOf(), context())).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('gasPrice') as string,
    })
    const wallet = recognize({ signer: both, gasPrice: '0.025uatom' })
    const { payload } = await signPayment(wallet, offerOf(), context())
    await broadcast(payload)
  })

  test('is none where the app says that gas is free', async () => {
    const { both } = await newSigners(100_000n)
    await call('dev_setMinimumGasPrice', '0uatom')
    const wallet = recognize({ signer: both, gasPrice: '0uatom' })
    const { payload } = await signPayment(wallet, offerOf(), context())
    expect(decode(payload).fee?.amount).toEqual([])
    await broadcast(payload)
  })
})

describe('a wallet that changes what it signs', () => {
  /** Shows the transaction to its user, who may change it. */
  async function changing(change: (fee: object) => object, memo = '') {
    const signers = await newSigners(100_000n)
    const { amino, direct } = signers
    const changed: Record<'direct' | 'amino', CosmosSigner> = {
      amino: {
        getAccounts: () => amino.getAccounts(),
        signAmino: (address, doc) =>
          amino.signAmino!(address, { ...doc, memo, fee: change(doc.fee) as typeof doc.fee }),
      },
      direct: {
        getAccounts: () => direct.getAccounts(),
        signDirect(address, doc) {
          const { fee, ...info } = AuthInfo.decode(doc.authInfoBytes)
          const { amount, gas, granter } = change({
            amount: fee!.amount,
            gas: fee!.gasLimit,
            granter: fee!.granter,
          }) as { amount: []; gas: string; granter?: string }
          const authInfo = { ...info, fee: { amount, gasLimit: BigInt(gas), granter: granter ?? '' } }
          const body = { ...TxBody.decode(doc.bodyBytes), memo }
          return direct.signDirect!(address, {
            ...doc,
            bodyBytes: TxBody.encode(body).finish(),
            authInfoBytes: AuthInfo.encode(AuthInfo.fromPartial(authInfo)).finish(),
          })
        },
      },
    }
    return changed
  }
  const amount = [{ denom: 'uatom', amount: '5000' }]

  test.each(['direct', 'amino'] as const)('in %s may change its own fee', async (mode) => {
    const signers = await changing(() => ({ amount, gas: '200000' }))
    const { payload, fee } = await signPayment(recognize(signers[mode]), offerOf(), context())
    expect(decode(payload).fee).toMatchObject({ amount, gasLimit: 200_000n })
    expect(fee).toEqual({ asset: 'uatom', amount: 5_000n })
    await broadcast(payload)
  })

  test.each(['direct', 'amino'] as const)('in %s may not add another coin to it', async (mode) => {
    const coins = [...amount, { denom: 'uosmo', amount: '9' }]
    const signers = await changing(() => ({ amount: coins, gas: '200000' }))
    await expect(signPayment(recognize(signers[mode]), offerOf(), context())).rejects.toMatchObject({
      code: 'SIGNATURE_REFUSED',
    })
  })

  test.each(['direct', 'amino'] as const)('in %s may not drop the fee payer', async (mode) => {
    const signers = await changing(() => ({ amount, gas: '200000' }))
    const extra = { feePayer: 'cosmos1kklh64uq03ult2wmua8pcgq25kyu3nwvqekrxk' }
    await expect(signPayment(recognize(signers[mode]), offerOf({ extra }), context())).rejects.toMatchObject({
      code: 'SIGNATURE_REFUSED',
      message: expect.stringContaining('preferNoSetFee') as string,
    })
  })

  test('may not drop the fee payer that signs too', async () => {
    const { amino } = await changing(() => ({ amount, gas: '200000', granter: FEE_PAYER }))
    const extra = { feePayer: FEE_PAYER, feePayerSigns: true }
    await expect(signPayment(recognize(amino), offerOf({ extra }), context())).rejects.toMatchObject({
      code: 'SIGNATURE_REFUSED',
      message: expect.stringContaining('preferNoSetFee') as string,
    })
  })

  test.each(['direct', 'amino'] as const)('in %s may not change the payment', async (mode) => {
    const signers = await changing((fee) => fee, 'another')
    await expect(signPayment(recognize(signers[mode]), offerOf(), context())).rejects.toMatchObject({
      code: 'SIGNATURE_REFUSED',
      message: expect.stringContaining('another transaction') as string,
    })
  })
})
