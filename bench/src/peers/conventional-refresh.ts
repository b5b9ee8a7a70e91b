/**
 * A refresh handler as tutorials write it: Express, a Prisma transaction that reads, checks, updates and inserts, and a token
 * signed with a string. PORT, DATABASE_URL and JWT_SECRET are its configuration.
 */
import { createHash, randomBytes } from 'node:crypto'
import { openGatewayDatabase } from '@tollgate/database'
import express from 'express'
import jwt from 'jsonwebtoken'

const { PORT, DATABASE_URL: url = '', JWT_SECRET: secret = '' } = process.env
const LIFETIME_MS = 30 * 86_400_000
const { prisma } = openGatewayDatabase({ url })

const hashOf = (token: string) => createHash('sha256').update(token).digest()

function rotate(hash: Uint8Array<ArrayBuffer>, next: Uint8Array<ArrayBuffer>) {
  return prisma.$transaction(async (transaction) => {
    const token = await transaction.refreshToken.findUnique({ where: { hash }, include: { session: true } })
    if (!token || token.usedAt || token.session.revokedAt || token.expiresAt < new Date()) return undefined
    await transaction.refreshToken.update({ where: { hash }, data: { usedAt: new Date() } })
    const expiresAt = new Date(Date.now() + LIFETIME_MS)
    await transaction.refreshToken.create({ data: { hash: next, sessionId: token.sessionId, expiresAt } })
    return token.session
  })
}

const app = express()
app.use(express.json())
app.get('/ready', (_req, res) => res.json({ status: 'ok' }))
app.post('/auth/refresh', async (req, res) => {
  const { refresh_token } = req.body as { refresh_token: string }
  const next = randomBytes(32).toString('base64url')
  const session = await rotate(hashOf(refresh_token), hashOf(next))
  if (!session) return res.status(403).json({ code: 'REVOKED_TOKEN' })
  const { id, wallet, authMethod, chainId, ecosystem, planId } = session
  const claims = { sid: id, wallet, auth_method: authMethod, chain_id: chainId, ecosystem }
  const token = jwt.sign({ ...claims, pricing_plan_id: planId }, secret, { expiresIn: '1h' })
  const expires_at = new Date(Date.now() + 3_600_000).toISOString()
  return res.json({ token, refresh_token: next, expires_at })
})
app.listen(Number(PORT), '127.0.0.1')
