import {
  AssetRegistered,
  AssetRegistration,
  CreateUserRequest,
  OperatorUserList,
  PasswordResetIssued,
  PasswordResetPath,
  UserCreated,
  UsersQuery,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { callers, refusals } from './errors'

const tag = 'Admin'

/** The service is specified under both paths. */
export const adminPrefixes = [
  { prefix: '/api/v1/admin', suffix: '' },
  { prefix: '/admin', suffix: 'AtRoot' },
]

export const adminOperations: Operation[] = adminPrefixes.flatMap(({ prefix, suffix }): Operation[] => [
  {
    id: `createUser${suffix}`,
    method: 'post',
    path: `${prefix}/users`,
    tag,
    summary: 'Create an account, optionally an admin’s.',
    auth: callers.admin,
    body: { schema: CreateUserRequest },
    answers: { 200: { description: 'The new user.', schema: UserCreated } },
    errors: {
      INVALID_REQUEST: 'A field is missing or wrong.',
      ...refusals.admin,
      CONFLICT: 'The email has an account.',
      ...refusals.passwordChecks,
    },
  },
  {
    id: `listUsers${suffix}`,
    method: 'get',
    path: `${prefix}/users`,
    tag,
    summary: 'List all users.',
    description: 'Oldest first, with their keys and fee shares.',
    auth: callers.admin,
    query: UsersQuery,
    answers: { 200: { description: 'One page of users.', schema: OperatorUserList } },
    errors: refusals.admin,
  },
  {
    id: `issuePasswordReset${suffix}`,
    method: 'post',
    path: `${prefix}/users/{id}/password-reset`,
    tag,
    summary: 'Issue a token with which a user sets a new password.',
    description:
      'Give the token to the user, for `POST /api/v1/password/reset`. It is valid once, for an hour, and ends the one before; only its hash is stored.',
    auth: callers.admin,
    pathParameters: PasswordResetPath,
    answers: { 200: { description: 'The token, in this answer only.', schema: PasswordResetIssued } },
    errors: {
      INVALID_REQUEST: 'The path is not a user id.',
      ...refusals.admin,
      NOT_FOUND: 'There is no such user, or it is disabled or deleted.',
    },
  },
  {
    id: `registerAsset${suffix}`,
    method: 'post',
    path: `${prefix}/assets`,
    tag,
    summary: 'Register an asset, or change whether it is active.',
    description:
      'Payments in the token are simulated before it is registered. It is refused if its decimals differ from those given, if it takes a fee from transfers, or if it accepts a used authorization again. A registered asset is updated; with `active` false it is taken out of use without a simulation, and new payments in it are refused. A registered asset whose token now fails the simulation is taken out of use.',
    auth: callers.admin,
    body: { schema: AssetRegistration },
    answers: { 200: { description: 'The registered asset.', schema: AssetRegistered } },
    errors: {
      INVALID_REQUEST:
        'A field is wrong, the network is not served, or the token is unfit for payments; the message says why.',
      ...refusals.admin,
      UNAVAILABLE: 'The network gives no answer just now; nothing was registered.',
    },
  },
])
