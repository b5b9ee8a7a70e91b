/** Paid calls as they are usually built: stock Express, a token by string secret, two Prisma statements a call, axios. */
import { type AddressInfo } from 'node:net'
import { openGatewayDatabase } from '@tollgate/database'
import axios from 'axios'
import express from 'express'
import jwt from 'jsonwebtoken'

const { DATABASE_URL = '', JWT_SECRET = '', UPSTREAM_URL = '' } = process.env
const { prisma } = openGatewayDatabase({ url: DATABASE_URL })
const REPLICA = '00000000-0000-4000-8000-000000000000'

type Claims = { wallet: string; pricing_plan_id: number }
type Call = { ecosystem: string; chain_id: string; transport: string; payload: { method: string } }

async function pay({ wallet, pricing_plan_id: planId }: Claims, call: Call) {
  const account = await prisma.account.update({
    where: { wallet_planId: { wallet, planId }, balance: { gte: 1 } },
    data: { balance: { decrement: 1 }, calls: { increment: 1 } },
  })
  const { ecosystem, chain_id: chainId, transport, payload } = call
  const parts = { providerId: 'node', replicaId: REPLICA, method: 'POST', resource: '' }
  await prisma.usage.create({
    data: {
      accountId: account.id,
      ecosystem,
      chainId,
      transport,
      rpcMethod: payload.method,
      credits: 1,
      ...parts,
    },
  })
}

const app = express()
app.use(express.json())
app.post('/rpc', async (req, res) => {
  const token = req.get('authorization')?.replace('Bearer ', '') ?? ''
  const call = req.body as Call
  await pay(jwt.verify(token, JWT_SECRET) as unknown as Claims, call)
  const answer = await axios.post<unknown>(UPSTREAM_URL, call.payload)
  res.status(answer.status).json(answer.data)
})
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
