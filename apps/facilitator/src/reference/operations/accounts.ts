import {
  ClientCreated,
  ClientDeleted,
  ClientList,
  ClientPath,
  ClientsQuery,
  CreateClientRequest,
  LoggedIn,
  LoginRefused,
  Refreshed,
  RefreshRefused,
  SignedUp,
  SignUpRequest,
  UserLogin,
  UserTokenRefresh,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { callers, refusals } from './errors'

const tag = 'Accounts'

export const accountOperations: Operation[] = [
  {
    id: 'signUp',
    method: 'post',
    path: '/api/v1/signup',
    tag,
    summary: 'Create an account.',
    description:
      'Its payments may cause a small share of the daily fees until the operator raises it. Operators may have sign-up open, by invitation or closed.',
    body: { schema: SignUpRequest },
    answers: { 200: { description: 'The new user.', schema: SignedUp } },
    errors: {
      INVALID_REQUEST: '`email` is not an email address, or `password` does not have 8 to 256 characters.',
      FORBIDDEN:
        'Sign-up is closed, or is by invitation and the invitation is missing, unknown, used, expired or for another email.',
      CONFLICT: 'The email has an account.',
      ...refusals.limited,
      ...refusals.passwordChecks,
    },
  },
  {
    id: 'logIn',
    method: 'post',
    path: '/api/v1/login',
    tag,
    summary: 'Get an access token and a refresh token.',
    description:
      'Limited by account as well: all addresses share its limit, but one that it logged in from within 30 days has a limit of its own.',
    body: { schema: UserLogin },
    answers: {
      200: { description: 'The tokens.', schema: LoggedIn },
      401: {
        description:
          'Email or password is wrong, or the account is disabled; the answer does not tell which.',
        schema: LoginRefused,
      },
    },
    errors: {
      INVALID_REQUEST: '`email` or `password` is missing or not a string.',
      ...refusals.limited,
      ...refusals.passwordChecks,
    },
  },
  {
    id: 'refreshToken',
    method: 'post',
    path: '/api/v1/token/refresh',
    tag,
    summary: 'Get a new access token without the password.',
    description: 'A refresh token is valid until it expires, for any number of uses.',
    body: { schema: UserTokenRefresh },
    answers: {
      200: { description: 'A new access token.', schema: Refreshed },
      401: {
        description: 'The refresh token is unknown or has expired: log in again.',
        schema: RefreshRefused,
      },
    },
    errors: {
      INVALID_REQUEST: '`refresh_token` is missing or not a string.',
      ...refusals.limited,
    },
  },
  {
    id: 'createClient',
    method: 'post',
    path: '/api/v1/clients',
    tag,
    summary: 'Create a client key for a resource server.',
    description:
      'The key is `clientId` and `token`, sent as `X-Client-ID` and `X-Client-Token` to verify and settle. The token is shown in this answer only.',
    auth: callers.user,
    body: { schema: CreateClientRequest },
    answers: { 200: { description: 'The key, with its token.', schema: ClientCreated } },
    errors: {
      INVALID_REQUEST: '`title`, `scope`, `ttl_hours`, `pay_to` or a cap is not as described.',
      ...refusals.user,
      CONFLICT: 'You have the maximum number of live keys: delete one first.',
    },
  },
  {
    id: 'listClients',
    method: 'get',
    path: '/api/v1/clients',
    tag,
    summary: 'List your client keys, without their tokens.',
    description: 'Admins see the keys of all users. Revoked keys are not listed.',
    auth: callers.user,
    query: ClientsQuery,
    answers: { 200: { description: 'One page of keys.', schema: ClientList } },
    errors: { ...refusals.user, ...refusals.longResponses },
  },
  {
    id: 'deleteClient',
    method: 'delete',
    path: '/api/v1/clients/{id}',
    tag,
    summary: 'Revoke a client key, at once.',
    auth: callers.user,
    pathParameters: ClientPath,
    answers: { 200: { description: 'The revoked key.', schema: ClientDeleted } },
    errors: {
      INVALID_REQUEST: 'The path is not a client id.',
      ...refusals.user,
      NOT_FOUND: 'You have no such key.',
    },
  },
]
