import {
  AssetRegistered,
  AssetRegistration,
  CreateUserRequest,
  UserCreated,
  UserList,
  UsersQuery,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { callers, refusals } from './errors'

const tag = 'Admin'

/** The same under both paths that the service is known by. */
const prefixes = [
  { prefix: '/api/v1/admin', suffix: '' },
  { prefix: '/admin', suffix: 'AtRoot' },
]

export const adminOperations: Operation[] = prefixes.flatMap(({ prefix, suffix }): Operation[] => [
  {
    id: `createUser${suffix}`,
    method: 'post',
    path: `${prefix}/users`,
    tag,
    summary: 'Make an account, an admin’s if wanted.',
    auth: callers.admin,
    body: { schema: CreateUserRequest },
    answers: { 200: { description: 'The new user.', schema: UserCreated } },
    errors: {
      INVALID_REQUEST: 'A field is missing or wrong.',
      ...refusals.admin,
      CONFLICT: 'The email has an account.',
      ...refusals.crowded,
    },
  },
  {
    id: `listUsers${suffix}`,
    method: 'get',
    path: `${prefix}/users`,
    tag,
    summary: 'List all users.',
    auth: callers.admin,
    query: UsersQuery,
    answers: { 200: { description: 'One page of users.', schema: UserList } },
    errors: refusals.admin,
  },
  {
    id: `registerAsset${suffix}`,
    method: 'post',
    path: `${prefix}/assets`,
    tag,
    summary: 'Register an asset, or change whether it is active.',
    description:
      'A token is tried out before it is registered: one that is not as it is said to be, takes a fee from transfers, or would take a used nonce again is refused. One that is registered is changed; with `active` false it is taken out of use without being tried, and no new payment in it is taken. Where a registered token proves unfit when it is tried again, it is refused and taken out of use.',
    auth: callers.admin,
    body: { schema: AssetRegistration },
    answers: { 200: { description: 'The asset as it is registered.', schema: AssetRegistered } },
    errors: {
      INVALID_REQUEST:
        'A field is wrong, the network is not served, or the token does not do; the message says why.',
      ...refusals.admin,
      UNAVAILABLE: 'The network gives no answer just now; nothing was registered.',
    },
  },
])
