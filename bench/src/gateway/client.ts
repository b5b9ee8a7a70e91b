import { type SessionTokens } from '@tollgate/protocol'
import { type Wallet } from 'ethers'
import { Pool } from 'undici'
import { type BenchmarkContext } from '../benchmark'
import { type Peer } from '../peers/peer'
import { SIGN_IN_DOMAIN } from './gateway'

export type GatewayClient = ReturnType<typeof openGatewayClient>

/** Rejects if an answer is not 200. */
export function openGatewayClient(
  { url }: Peer,
  { closeLater }: Pick<BenchmarkContext, 'closeLater'>,
  { connections }: { connections: number },
) {
  const pool = new Pool(url, { connections })
  closeLater(() => pool.close())

  async function send<Answer>(method: 'GET' | 'POST', path: string, body?: string): Promise<Answer> {
    const content = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body }
    const answer = await pool.request({ method, path, ...content })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}: ${text}`)
    return JSON.parse(text) as Answer
  }
  const login = (body: string) => send<SessionTokens>('POST', '/auth/login', body)

  async function signLogin(wallet: Wallet): Promise<string> {
    const { nonce } = await send<{ nonce: string }>('GET', `/auth/nonce?address=${wallet.address}`)
    const message = [
      `${SIGN_IN_DOMAIN} wants you to sign in.`,
      '',
      `Address: ${wallet.address}`,
      `Nonce: ${nonce}`,
      `Issued At: ${new Date().toISOString()}`,
    ].join('\n')
    return JSON.stringify({
      message,
      signature: wallet.signMessageSync(message),
      address: wallet.address,
      auth_method: 'siwe',
      x402_chain_id: '84532',
      x402_ecosystem: 'evm',
      pricing_plan_id: 1,
    })
  }

  return {
    get: <Answer>(path: string) => send<Answer>('GET', path),
    login,
    /** The body of a login with a new nonce. */
    signLogin,
    signIn: async (wallet: Wallet) => login(await signLogin(wallet)),
    refresh: (refresh_token: string) =>
      send<SessionTokens>('POST', '/auth/refresh', JSON.stringify({ refresh_token })),
  }
}
