import { LoggedOut, SessionEnded, SessionList, SessionPath, SessionsEnded } from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { callers, refusals } from './errors'

const tag = 'Accounts'

export const sessionOperations: Operation[] = [
  {
    id: 'logOut',
    method: 'post',
    path: '/api/v1/logout',
    tag,
    summary: 'End the session of the access token.',
    description: 'Its access tokens and its refresh token are refused at once, on every replica.',
    auth: callers.user,
    answers: { 200: { description: 'It has ended.', schema: LoggedOut } },
    errors: refusals.user,
  },
  {
    id: 'listSessions',
    method: 'get',
    path: '/api/v1/sessions',
    tag,
    summary: 'List your sessions, the last used first.',
    description: 'Each login begins one. A user has at most 100; the oldest ends.',
    auth: callers.user,
    answers: { 200: { description: 'All of them.', schema: SessionList } },
    errors: refusals.user,
  },
  {
    id: 'endSession',
    method: 'delete',
    path: '/api/v1/sessions/{id}',
    tag,
    summary: 'End one of your sessions, at once.',
    auth: callers.user,
    pathParameters: SessionPath,
    answers: { 200: { description: 'The ended session.', schema: SessionEnded } },
    errors: {
      INVALID_REQUEST: 'The path is not a session id.',
      ...refusals.user,
      NOT_FOUND: 'You have no such session.',
    },
  },
  {
    id: 'endOtherSessions',
    method: 'delete',
    path: '/api/v1/sessions',
    tag,
    summary: 'End all your sessions except that of the access token.',
    auth: callers.user,
    answers: { 200: { description: 'How many have ended.', schema: SessionsEnded } },
    errors: refusals.user,
  },
]
