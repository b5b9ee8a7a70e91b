import {
  RecipientChallenge,
  RecipientChallengeRequest,
  RecipientDeleted,
  RecipientList,
  RecipientPath,
  RecipientReserved,
  RecipientsQuery,
  ReserveRecipientRequest,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { callers, refusals } from './errors'

const tag = 'Accounts'

export const recipientOperations: Operation[] = [
  {
    id: 'challengeRecipient',
    method: 'post',
    path: '/api/v1/recipients/challenge',
    tag,
    summary: 'Get a text that an address signs to be reserved for your account.',
    description: 'It names your account, the address and the network, and is valid once, for 5 minutes.',
    auth: callers.user,
    body: { schema: RecipientChallengeRequest },
    answers: { 200: { description: 'The text and its nonce.', schema: RecipientChallenge } },
    errors: {
      INVALID_REQUEST: 'The network is not served, or `address` is not an address of it.',
      ...refusals.user,
      UNAVAILABLE: 'The store of nonces gives no answer just now.',
    },
  },
  {
    id: 'reserveRecipient',
    method: 'post',
    path: '/api/v1/recipients',
    tag,
    summary: 'Reserve a recipient address for your account, with a signature of that address.',
    description:
      'From the next request on, only client keys of your account verify and settle payments to it on that network; others are refused with `invalid_payment_requirements`. Payments that were claimed before go on. A contract wallet signs as EIP-1271 has it.',
    auth: callers.user,
    body: { schema: ReserveRecipientRequest },
    answers: {
      200: {
        description: 'The reservation, also if your account has it already.',
        schema: RecipientReserved,
      },
    },
    errors: {
      INVALID_REQUEST:
        'A field is missing or wrong, or the nonce is unknown, used, expired or of another account.',
      ...refusals.user,
      FORBIDDEN: 'The signature is not one of the address for the message.',
      CONFLICT: 'Another account has the address, or yours has the maximum number of them.',
      UNAVAILABLE: 'The network or the store of nonces gives no answer just now; nothing was reserved.',
    },
  },
  {
    id: 'listRecipients',
    method: 'get',
    path: '/api/v1/recipients',
    tag,
    summary: 'List the recipient addresses that your account has reserved.',
    description: 'Admins see those of all users.',
    auth: callers.user,
    query: RecipientsQuery,
    answers: { 200: { description: 'One page of reservations.', schema: RecipientList } },
    errors: { ...refusals.user, ...refusals.longResponses },
  },
  {
    id: 'deleteRecipient',
    method: 'delete',
    path: '/api/v1/recipients/{id}',
    tag,
    summary: 'End a reservation: any client key may settle payments to the address again.',
    auth: callers.user,
    pathParameters: RecipientPath,
    answers: { 200: { description: 'The ended reservation.', schema: RecipientDeleted } },
    errors: {
      INVALID_REQUEST: 'The path is not an id.',
      ...refusals.user,
      NOT_FOUND: 'You have no such reservation.',
    },
  },
]
