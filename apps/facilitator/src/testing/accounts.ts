import { Secp256k1Wallet, makeSignDoc } from '@cosmjs/amino'
import { newUser, type Api, type ClientHeaders, type TestFacilitator } from './facilitator'
import { type CosmosWallet } from './cosmos'

export const ADMIN_TOKEN = 'the admin token of this test and no other'
export const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` }

export type Account = Awaited<ReturnType<typeof newAccount>>

/** A user with its access token and client keys. */
export async function newAccount(api: Api) {
  const { email, accessToken } = await newUser(api)
  const authorization = { Authorization: `Bearer ${accessToken}` }

  return {
    email,
    authorization,

    async newKey(body: object = {}, on = api): Promise<ClientHeaders> {
      const answer = await on
        .post('/api/v1/clients')
        .set(authorization)
        .send({ title: 'Shop', ...body })
        .expect(200)
      const { client } = (answer.body as { data: { client: { clientId: string; token: string } } }).data
      return { 'X-Client-ID': client.clientId, 'X-Client-Token': client.token }
    },

    async challenge(address: string, network = 'base-sepolia', on = api) {
      const answer = await on
        .post('/api/v1/recipients/challenge')
        .set(authorization)
        .send({ network, address })
        .expect(200)
      return (answer.body as { data: { nonce: string; message: string; expiresAt: string } }).data
    },

    reserve: (body: object, on = api) => on.post('/api/v1/recipients').set(authorization).send(body),
    recipients: () => api.get('/api/v1/recipients').set(authorization).expect(200),
    release: (id: number) => api.delete(`/api/v1/recipients/${id}`).set(authorization),
  }
}

/** Reserves the address for the account, as an operator. */
export const assign = (
  { api }: Pick<TestFacilitator, 'api'>,
  { email }: Account,
  address: string,
  network = 'base-sepolia',
) => api.post('/admin/recipients').set(asAdmin).send({ email, network, address })

export const deny = ({ api }: Pick<TestFacilitator, 'api'>, address: string) =>
  api.post('/admin/denied-addresses').set(asAdmin).send({ address, note: 'a reason' }).expect(200)

/** Signs a text by ADR-036. */
export async function signText({ key, address }: CosmosWallet, text: string) {
  const wallet = await Secp256k1Wallet.fromKey(key)
  const data = Buffer.from(text, 'utf8').toString('base64')
  const message = { type: 'sign/MsgSignData', value: { signer: address, data } }
  const doc = makeSignDoc([message], { gas: '0', amount: [] }, '', '', 0, 0)
  const { signature } = await wallet.signAmino(address, doc)
  return { signature: signature.signature, pubkey: signature.pub_key.value as string }
}
