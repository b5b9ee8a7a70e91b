import { ChainUnavailable } from '@tollgate/chains'
import {
  AssignRecipientRequest,
  RecipientChallengeRequest,
  RecipientPath,
  RecipientsQuery,
  ReserveRecipientRequest,
  type Recipient as WireRecipient,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { getNetwork } from '../networks/get-network'
import { type Network } from '../networks/network'
import { type Networks } from '../networks/networks'
import { type User, type UserStore } from '../users/store'
import { type AddressProof } from './address-proof'
import { type Challenges } from './challenges'
import { MAX_RECIPIENTS, type Recipient, type RecipientStore } from './store'

export function createRecipientHandlers(parts: {
  recipients: RecipientStore
  challenges: Challenges
  isSigned: AddressProof
  networks: Networks
  users: Pick<UserStore, 'byEmail'>
}) {
  const { recipients, challenges, isSigned, networks, users } = parts

  async function reserve(recipient: Omit<Recipient, 'id' | 'createdAt'>): Promise<Recipient> {
    const reserved = await recipients.reserve(recipient)
    if (reserved === 'taken')
      throw new ApiError(
        'CONFLICT',
        'Another account has reserved this address; the operator can delete its reservation',
      )
    if (reserved === 'no-account') throw new ApiError('NOT_FOUND', 'This account has been deleted meanwhile')
    if (reserved === 'too-many')
      throw new ApiError(
        'CONFLICT',
        `The account has ${MAX_RECIPIENTS} reserved addresses, which is the most; delete one first`,
      )
    return reserved
  }

  async function list(req: Request, res: Response, userId?: number) {
    const page = parse(RecipientsQuery, req.query)
    const found = await recipients.list({ ...page, ...(userId === undefined ? {} : { userId }) })
    res.json({ data: found.map(toWire) })
  }

  async function remove(req: Request, res: Response, userId?: number) {
    const { id } = parse(RecipientPath, req.params)
    if (!(await recipients.remove(id, userId)))
      throw new ApiError('NOT_FOUND', 'There is no such reservation; GET /api/v1/recipients lists yours')
    res.json({ data: { deleted: id } })
    return { recipientId: id }
  }

  return {
    async challenge(req: Request, res: Response, user: User) {
      const { network: name, address } = parse(RecipientChallengeRequest, req.body)
      const network = getNetwork(networks, name)
      const { nonce, message, expiresAt } = await challenges.create(
        user,
        network,
        addressOn(network, address),
      )
      res.json({ data: { nonce, message, expiresAt: expiresAt.toISOString() } })
    },

    async reserve(req: Request, res: Response, user: User) {
      const { nonce, signature, pubkey } = parse(ReserveRecipientRequest, req.body)
      const challenge = await challenges.take(user, nonce)
      if (!challenge)
        throw new ApiError(
          'INVALID_REQUEST',
          'nonce: unknown, used or expired; ask POST /api/v1/recipients/challenge for a new one',
        )
      const { address, message } = challenge
      const network = getNetwork(networks, challenge.network)
      const proof = { message, address, signature, ...(pubkey === undefined ? {} : { pubkey }) }
      if (!(await isSigned(network, proof).catch(toUnavailable)))
        throw new ApiError(
          'FORBIDDEN',
          'The signature is not one of the address for the message; ask for a new challenge and sign its message',
        )
      const reserved = await reserve({
        userId: user.id,
        network: network.name,
        address,
        proof: 'signature',
      })
      res.json({ data: toWire(reserved) })
    },

    list: (req: Request, res: Response, user: User) => list(req, res, user.isAdmin ? undefined : user.id),

    remove: (req: Request<{ id: string }>, res: Response, user: User) =>
      remove(req as Request, res, user.isAdmin ? undefined : user.id),

    async assign(req: Request, res: Response) {
      const { email, network: name, address } = parse(AssignRecipientRequest, req.body)
      const network = getNetwork(networks, name)
      const found = await users.byEmail(email)
      if (!found)
        throw new ApiError('NOT_FOUND', 'No active account has this email; GET /admin/users lists all')
      const reserved = await reserve({
        userId: found.user.id,
        network: network.name,
        address: addressOn(network, address),
        proof: 'operator',
      })
      res.json({ data: toWire(reserved) })
      const { id: recipientId, userId, address: canonical } = reserved
      return { recipientId, userId, network: reserved.network, address: canonical }
    },

    all: (req: Request, res: Response) => list(req, res),

    unassign: (req: Request, res: Response) => remove(req, res),
  }
}

function addressOn({ family }: Network, text: string): string {
  const address = family.parseAddress(text)
  if (address === undefined)
    throw new ApiError('INVALID_REQUEST', 'address: is not an address of the network')
  return address
}

function toUnavailable(error: unknown): never {
  if (!(error instanceof ChainUnavailable)) throw error
  throw new ApiError('UNAVAILABLE', 'The network gives no answer right now; ask for a new challenge later', {
    retryAfterSeconds: 2,
    cause: error,
  })
}

const toWire = ({ createdAt, ...recipient }: Recipient): WireRecipient => ({
  ...recipient,
  createdAt: createdAt.toISOString(),
})
