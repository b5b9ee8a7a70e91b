import {
  CreateInvitationRequest,
  InvitationPath,
  InvitationsQuery,
  type Invitation as WireInvitation,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Invitation, type InvitationStore } from './store'

const HOUR_SECONDS = 3_600

export function createInvitationHandlers(invitations: InvitationStore) {
  return {
    async create(req: Request, res: Response) {
      const { email = null, ttl_hours: ttlHours } = parse(CreateInvitationRequest, req.body)
      const ttlSeconds = ttlHours === undefined ? null : ttlHours * HOUR_SECONDS
      const { invitation, code } = await invitations.create({ email, ttlSeconds })
      res.json({ data: { ...toWire(invitation), invitation: code } })
      return { invitationId: invitation.id }
    },

    async list(req: Request, res: Response) {
      res.json({ data: (await invitations.list(parse(InvitationsQuery, req.query))).map(toWire) })
    },

    async remove(req: Request, res: Response) {
      const { id } = parse(InvitationPath, req.params)
      if (!(await invitations.remove(id)))
        throw new ApiError(
          'NOT_FOUND',
          'There is no unused invitation of this id; GET /admin/invitations lists all',
        )
      res.json({ data: { deleted: id } })
      return { invitationId: id }
    },
  }
}

const toWire = ({ id, email, createdAt, expiresAt, usedAt }: Invitation): WireInvitation => ({
  id,
  email,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt?.toISOString() ?? null,
  usedAt: usedAt?.toISOString() ?? null,
})
