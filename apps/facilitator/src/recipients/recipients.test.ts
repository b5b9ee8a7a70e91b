import { COSMOS_CHAIN_ID } from '@tollgate/cosmos-devchain'
import { deploySmartWallet } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { ADMIN_TOKEN, asAdmin, assign, newAccount, signText } from '../testing/accounts'
import { sharedChain } from '../testing/chain'
import { cosmosNetwork, newCosmosWallet, ownCosmosChain, type CosmosWallet } from '../testing/cosmos'
import { testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { MAX_RECIPIENTS } from './store'

let replicas: [TestFacilitator, TestFacilitator]
let cosmos: CosmosWallet
let now = new Date()
beforeAll(async () => {
  const { rpcUrl } = await ownCosmosChain()
  cosmos = await newCosmosWallet(rpcUrl)
  const options = {
    variables: {
      ADMIN_TOKEN,
      JWT_SECRET: 'the same secret for both replicas of this test',
      PUBLIC_URL: 'https://facilitator.example',
    },
    networks: [cosmosNetwork(rpcUrl, await newCosmosWallet(rpcUrl))],
    now: () => now,
  }
  const first = await testFacilitator(options)
  replicas = [first, await testFacilitator({ ...first.settings, ephemeral: first.ephemeral })]
})
afterAll(closeAll)
afterEach(() => {
  now = new Date()
})

const api = () => replicas[0].api
const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { code?: string }).code,
]
const rowsOf = (answer: { body: unknown }) =>
  (answer.body as { data: { id: number; address: string }[] }).data

describe('POST /recipients', () => {
  test('reserves the address of a key, whose signature names facilitator, account, address and network', async () => {
    const [account, wallet] = [await newAccount(api()), Wallet.createRandom()]
    const { message, nonce } = await account.challenge(wallet.address.toLowerCase(), 'eip155:84532')
    for (const part of ['https://facilitator.example', account.email, wallet.address, 'eip155:84532', nonce])
      expect(message).toContain(part)
    const answer = await account.reserve({ nonce, signature: await wallet.signMessage(message) })
    expect(answer.body).toMatchObject({
      data: { network: 'base-sepolia', address: wallet.address, proof: 'signature' },
    })
    expect(rowsOf(await account.recipients())).toMatchObject([{ address: wallet.address }])
  })

  test('reserves a contract wallet with the signature of its owner (EIP-1271)', async () => {
    const [account, owner] = [await newAccount(api()), Wallet.createRandom()]
    const address = await deploySmartWallet(sharedChain(), owner.address)
    const signed = async (by: { signMessage: (text: string) => Promise<string> }) => {
      const { message, nonce } = await account.challenge(address)
      return { nonce, signature: await by.signMessage(message) }
    }
    expect(codeOf(await account.reserve(await signed(Wallet.createRandom())))).toEqual([403, 'FORBIDDEN'])
    expect(codeOf(await account.reserve(await signed(owner)))).toEqual([200, undefined])
  })

  test('reserves a Cosmos address with a signature by ADR-036', async () => {
    const account = await newAccount(api())
    const { message, nonce } = await account.challenge(cosmos.address, COSMOS_CHAIN_ID)
    const answer = await account.reserve({ nonce, ...(await signText(cosmos, message)) })
    expect(answer.body).toMatchObject({ data: { network: COSMOS_CHAIN_ID, address: cosmos.address } })
  })

  test('refuses a signature of another key, and of another text', async () => {
    const [account, wallet] = [await newAccount(api()), Wallet.createRandom()]
    for (const sign of [
      (text: string) => Wallet.createRandom().signMessage(text),
      (text: string) => wallet.signMessage(text.replace('Network: base-sepolia', 'Network: base')),
      () => Promise.resolve(`0x${'00'.repeat(65)}`),
      () => Promise.resolve('nonsense'),
    ]) {
      const { message, nonce } = await account.challenge(wallet.address)
      const answer = await account.reserve({ nonce, signature: await sign(message) })
      expect(codeOf(answer)).toEqual([403, 'FORBIDDEN'])
    }
    expect(rowsOf(await account.recipients())).toEqual([])
  })

  test('accepts a challenge once on all replicas, within five minutes, from the account that asked for it', async () => {
    const [account, other, wallet] = [await newAccount(api()), await newAccount(api()), Wallet.createRandom()]
    const { message, nonce } = await account.challenge(wallet.address)
    const signed = { nonce, signature: await wallet.signMessage(message) }
    expect(codeOf(await other.reserve(signed))).toEqual([400, 'INVALID_REQUEST'])
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => account.reserve(signed, replicas[n % 2]!.api)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(codeOf(await account.reserve(signed))).toEqual([400, 'INVALID_REQUEST'])

    const late = await account.challenge(wallet.address)
    now = new Date(Date.parse(late.expiresAt) + 1)
    const answer = await account.reserve({
      nonce: late.nonce,
      signature: await wallet.signMessage(late.message),
    })
    expect(codeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
  })

  test('gives an address to one of two accounts that race for it on two replicas', async () => {
    const accounts = await Promise.all([newAccount(api()), newAccount(api())])
    for (let round = 0; round < 5; round++) {
      const wallet = Wallet.createRandom()
      const signed = await Promise.all(
        accounts.map(async (account) => {
          const { message, nonce } = await account.challenge(wallet.address)
          return { nonce, signature: await wallet.signMessage(message) }
        }),
      )
      const answers = await Promise.all(
        accounts.map((account, n) => account.reserve(signed[n]!, replicas[n]!.api)),
      )
      expect(answers.map(codeOf).sort()).toEqual([
        [200, undefined],
        [409, 'CONFLICT'],
      ])
    }
  })

  test('returns its reservation to an account that has the address already', async () => {
    const [account, wallet] = [await newAccount(api()), Wallet.createRandom()]
    const [first, second] = [
      await assign(replicas[0], account, wallet.address),
      await assign(replicas[0], account, wallet.address.toLowerCase()),
    ]
    expect([first.status, second.body]).toEqual([200, first.body])
  })

  test('keeps an account within its maximum', async () => {
    const [account, wallet] = [await newAccount(api()), Wallet.createRandom()]
    await replicas[0].database.pool.query(
      `INSERT INTO reserved_recipients (user_id, network, address, proof)
       SELECT id, 'base-sepolia', email || n, 'operator' FROM users, generate_series(1, $2) AS n WHERE email = $1`,
      [account.email, MAX_RECIPIENTS],
    )
    expect(codeOf(await assign(replicas[0], account, wallet.address))).toEqual([409, 'CONFLICT'])
  })
})

test('a user neither sees nor ends the reservations of another; the operator ends any', async () => {
  const [account, other, wallet] = [await newAccount(api()), await newAccount(api()), Wallet.createRandom()]
  const assigned = await assign(replicas[0], account, wallet.address)
  const { id } = (assigned.body as { data: { id: number } }).data
  expect(rowsOf(await other.recipients())).toEqual([])
  expect(codeOf(await other.release(id))).toEqual([404, 'NOT_FOUND'])
  expect(rowsOf(await account.recipients())).toMatchObject([{ id }])
  expect(codeOf(await assign(replicas[0], other, wallet.address))).toEqual([409, 'CONFLICT'])

  await api().get('/admin/recipients').set(other.authorization).expect(401)
  const all = await api().get('/admin/recipients').set(asAdmin).expect(200)
  expect(rowsOf(all)).toContainEqual(expect.objectContaining({ id, address: wallet.address }))

  const unassign = () => api().delete(`/admin/recipients/${id}`)
  expect(codeOf(await unassign().set(other.authorization))).toEqual([401, 'UNAUTHORIZED'])
  expect(codeOf(await unassign().set(asAdmin))).toEqual([200, undefined])
  expect(codeOf(await unassign().set(asAdmin))).toEqual([404, 'NOT_FOUND'])
  expect(codeOf(await assign(replicas[0], other, wallet.address))).toEqual([200, undefined])
})

test.each([
  ['an unknown account', { email: 'unknown@example.com' }, [404, 'NOT_FOUND']],
  ['an unknown network', { network: 'nowhere' }, [400, 'INVALID_REQUEST']],
  ['an address of another chain family', { address: 'cosmos1x' }, [400, 'INVALID_REQUEST']],
])('an operator reserves nothing for %s', async (_, changes, refused) => {
  const { email } = await newAccount(api())
  const body = { email, network: 'base-sepolia', address: Wallet.createRandom().address, ...changes }
  expect(codeOf(await api().post('/admin/recipients').set(asAdmin).send(body))).toEqual(refused)
})
