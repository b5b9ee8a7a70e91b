import { z } from 'zod'
import { count } from '../query'
import { exampleTime, MAX_ID, page, plainText, visibleText } from './fields'

export const Credentials = z
  .object({
    email: z.email().max(254).toLowerCase().describe('Case-insensitive.'),
    password: plainText(256).min(8, 'must have at least 8 characters'),
  })
  .meta({
    id: 'Credentials',
    examples: [{ email: 'shop@example.com', password: 'correct horse battery staple' }],
  })
export type Credentials = z.infer<typeof Credentials>

export const SignUpRequest = Credentials.extend({
  invitation: z
    .string()
    .max(256)
    .optional()
    .describe('From the operator; required for sign-up by invitation, otherwise ignored.'),
}).meta({
  id: 'SignUpRequest',
  examples: [{ email: 'shop@example.com', password: 'correct horse battery staple' }],
})
export type SignUpRequest = z.infer<typeof SignUpRequest>

export const SignUpMode = z.enum(['open', 'invitation', 'closed'])
export type SignUpMode = z.infer<typeof SignUpMode>
export const SignUpModeShown = z
  .object({
    data: z.object({
      mode: SignUpMode.describe(
        '`invitation`: with a code of the operator. `closed`: the operator creates accounts.',
      ),
    }),
  })
  .meta({ examples: [{ data: { mode: 'invitation' } }] })

/** Wider than `Credentials`: credentials that no account can have get 401, like any wrong ones. */
export const UserLogin = z.object({ email: z.string().max(1024), password: z.string().max(1024) }).meta({
  id: 'UserLogin',
  examples: [{ email: 'shop@example.com', password: 'correct horse battery staple' }],
})

export const UserTokenRefresh = z.object({ refresh_token: z.string().describe('From `POST /login`.') }).meta({
  id: 'TokenRefreshRequest',
  examples: [{ refresh_token: 'd2F0Y2ggb3V0IGZvciB0aGUgdG9sbGdhdGUgdG9rZW4' }],
})

const exampleUser = { id: 1, email: 'shop@example.com', isAdmin: false, createdAt: exampleTime }

export const User = z
  .object({
    id: z.int(),
    email: z.string().describe('In lower case.'),
    isAdmin: z.boolean().describe('Whether the user sees the keys, resources and metrics of all users.'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'User', examples: [exampleUser] })
export type User = z.infer<typeof User>

export const SignedUp = z
  .object({ data: z.object({ message: z.string(), user: User }) })
  .meta({ examples: [{ data: { message: 'Signed up; log in to go on', user: exampleUser } }] })

const exampleAccessToken = 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.c2lnbmF0dXJl'

export const LoggedIn = z
  .object({
    data: z.object({
      message: z.string(),
      access_token: z.string().describe('The bearer token; valid for 15 minutes.'),
      refresh_token: z.string().describe('Returns new access tokens for 30 days; not a bearer token.'),
      id: z.int().describe('The user’s.'),
    }),
  })
  .meta({
    examples: [
      {
        data: {
          message: 'Logged in',
          access_token: exampleAccessToken,
          refresh_token: 'd2F0Y2ggb3V0IGZvciB0aGUgdG9sbGdhdGUgdG9rZW4',
          id: 1,
        },
      },
    ],
  })

export const Refreshed = z
  .object({ data: z.object({ access_token: z.string() }) })
  .meta({ examples: [{ data: { access_token: exampleAccessToken } }] })

/** The bodies of a refused login and a refused refresh, the only errors without a `code`. */
export const LoginRefused = z
  .object({ message: z.string() })
  .meta({ id: 'LoginRefused', examples: [{ message: 'Wrong email or password' }] })
export const RefreshRefused = z.object({ message: z.string(), details: z.string() }).meta({
  id: 'RefreshRefused',
  examples: [
    { message: 'The refresh token is not valid', details: 'It is unknown or has expired; log in again' },
  ],
})

export const CreateUserRequest = Credentials.extend({
  is_admin: z.boolean().default(false).describe('Admins see the keys, resources and metrics of all users.'),
  fee_share_percent: z
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe(
      'The share of each network’s daily fees that the user’s payments may cause, rounded to hundredths of a percent. Left out: that of any new user.',
    ),
}).meta({
  id: 'CreateUserRequest',
  examples: [{ email: 'ops@example.com', password: 'correct horse battery staple', is_admin: true }],
})
export const UserCreated = z.object({ data: User }).meta({ examples: [{ data: exampleUser }] })
export const UsersQuery = z.object({
  ...page(100, 100),
  email: plainText(254)
    .min(1)
    .toLowerCase()
    .optional()
    .meta({ description: 'Only users whose email begins with it.' }),
})

const message = z.object({ data: z.object({ message: z.string() }) })
const password = Credentials.shape.password
/** Wider, for the same reason as `UserLogin`. */
const anyPassword = z.string().max(1024)

export const UserShown = z.object({ data: User }).meta({ examples: [{ data: exampleUser }] })

export const ChangePasswordRequest = z
  .object({ current_password: anyPassword, new_password: password })
  .meta({
    id: 'ChangePasswordRequest',
    examples: [
      { current_password: 'correct horse battery staple', new_password: 'another horse and its staple' },
    ],
  })
export const PasswordChanged = message.meta({
  examples: [{ data: { message: 'The password is changed; all your other sessions have ended' } }],
})

const exampleResetToken = 'b25lLXRpbWUgdG9rZW4gb2YgMjU2IHJhbmRvbSBiaXRz'
export const PasswordResetPath = z.object({ id: count(1, MAX_ID).meta({ examples: [2] }) })
export const PasswordResetIssued = z
  .object({
    data: z.object({
      token: z.string().describe('For the user, with `POST /password/reset`. Only in this response.'),
      expiresAt: z.iso.datetime(),
    }),
  })
  .meta({ examples: [{ data: { token: exampleResetToken, expiresAt: '2026-01-15T13:00:00.000Z' } }] })
export const ResetPasswordRequest = z
  .object({ token: z.string().max(256).describe('From the operator; single use, for an hour.'), password })
  .meta({
    id: 'ResetPasswordRequest',
    examples: [{ token: exampleResetToken, password: 'another horse and its staple' }],
  })
export const PasswordReset = message.meta({
  examples: [{ data: { message: 'The password is set; log in with it' } }],
})

export const LoggedOut = message.meta({ examples: [{ data: { message: 'Logged out' } }] })

const exampleSession = {
  id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  createdAt: exampleTime,
  lastUsedAt: exampleTime,
  expiresAt: '2026-02-14T12:00:00.000Z',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/142.0',
  current: true,
}
export const Session = z
  .object({
    id: z.string(),
    createdAt: z.iso.datetime().describe('When the user logged in.'),
    lastUsedAt: z.iso.datetime().describe('The last refresh, to the minute.'),
    expiresAt: z.iso.datetime(),
    userAgent: z.string().nullable().describe('What the client called itself at the login; null: nothing.'),
    current: z.boolean().describe('Whether it is that of the request.'),
  })
  .meta({ id: 'Session', examples: [exampleSession] })
export type Session = z.infer<typeof Session>
export const SessionList = z
  .object({ data: z.array(Session) })
  .meta({ examples: [{ data: [exampleSession] }] })
export const SessionPath = z.object({ id: z.uuid().meta({ examples: [exampleSession.id] }) })
export const SessionEnded = z
  .object({ data: z.object({ deleted: z.string() }) })
  .meta({ examples: [{ data: { deleted: exampleSession.id } }] })
export const SessionsEnded = z
  .object({ data: z.object({ deleted: z.int().describe('How many.') }) })
  .meta({ examples: [{ data: { deleted: 2 } }] })

export const DeleteAccountRequest = z
  .object({ password: anyPassword })
  .meta({ id: 'DeleteAccountRequest', examples: [{ password: 'correct horse battery staple' }] })
export const AccountDeleted = z
  .object({ data: z.object({ deleted: z.int() }) })
  .meta({ examples: [{ data: { deleted: exampleUser.id } }] })

export const operations = ['verify', 'settle', 'supported', 'settlements'] as const
export type Operation = (typeof operations)[number]

/** Comma-separated operations; empty or absent means all. */
export const Scope = z
  .string()
  .max(128)
  .transform((text) => (text.trim() === '' ? [] : text.split(',').map((word) => word.trim())))
  .transform((words) => [...new Set(words)])
  .pipe(z.array(z.enum(operations)))
  .meta({
    type: 'string',
    maxLength: 128,
    pattern: String.raw`^\s*((${operations.join('|')})(\s*,\s*(${operations.join('|')}))*\s*)?$`,
    description:
      'The operations that the key may call: any of `verify`, `settle`, `supported` and `settlements`, comma-separated; empty means all.',
  })

const MIN_TTL_HOURS = 1 / 3_600
const MAX_TTL_HOURS = 87_600
const MAX_RECIPIENTS = 100
const MAX_PAYMENTS_PER_MINUTE = 1_000_000

/** Digits, because a JSON number may have lost some. */
const FeeCap = z.string().regex(/^(0|[1-9][0-9]{0,29})$/, 'must be decimal digits in a string')

export const CreateClientRequest = z
  .object({
    title: visibleText(200).regex(/\S/, 'must not be blank').trim().describe('A note about the key.'),
    scope: Scope.optional(),
    ttl_hours: z
      .number()
      .min(MIN_TTL_HOURS, 'must be at least one second, 1/3600 of an hour')
      .max(MAX_TTL_HOURS)
      .optional()
      .describe('Hours until the key expires, at least one second; omitted: never.'),
    pay_to: z
      .array(plainText(256).min(1))
      .max(MAX_RECIPIENTS)
      .optional()
      .describe(
        'The recipients that the key may verify and settle payments to; any, where left out or empty.',
      ),
    max_fees_per_day: FeeCap.optional().describe(
      'The network fees that its payments may cause in 24 hours, on each network separately: decimal digits in that network’s native smallest unit, such as wei. Omitted: only the shares of the key and of its user limit them.',
    ),
    max_payments_per_minute: z
      .int()
      .min(1)
      .max(MAX_PAYMENTS_PER_MINUTE)
      .optional()
      .describe('Its requests to `/settle` a minute, on all replicas together; above it: 429.'),
  })
  .meta({
    id: 'CreateClientRequest',
    examples: [{ title: 'Weather shop', scope: 'verify,settle,supported', ttl_hours: 720 }],
  })
export type CreateClientRequest = z.infer<typeof CreateClientRequest>

const exampleKey = {
  clientId: 'client_5f0c9a4e1b7d2f3a6c8e9b01',
  title: 'Weather shop',
  scope: 'verify,settle,supported',
  createdAt: exampleTime,
  expiresAt: '2026-02-14T12:00:00.000Z',
}

const keyFields = {
  clientId: z.string().describe('Sent as `X-Client-ID`.'),
  title: z.string(),
  scope: z.string().describe('The operations that it may call, comma-separated; empty means all.'),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable().describe('Null if it never expires.'),
  payTo: z.array(z.string()).optional().describe('The allowed recipients of its payments; omitted if any.'),
  maxFeesPerDay: z
    .string()
    .optional()
    .describe('Its cap of fees in 24 hours on each network, in the native smallest unit; omitted if none.'),
  maxPaymentsPerMinute: z.int().optional().describe('Its cap of requests to `/settle`; omitted if none.'),
}
export const ClientKey = z.object(keyFields).meta({ id: 'ClientKey', examples: [exampleKey] })
export type ClientKey = z.infer<typeof ClientKey>

export const ClientCreated = z
  .object({
    data: z.object({
      client: z.object({
        ...keyFields,
        token: z.string().describe('Sent as `X-Client-Token`. Only in this response.'),
      }),
    }),
  })
  .meta({
    examples: [
      { data: { client: { ...exampleKey, token: 'c2VjcmV0LW9mLXRoZS1jbGllbnQta2V5LWluLWJhc2U2NHVybA' } } },
    ],
  })
export const ClientsQuery = z.object(page(20, 100))
export const ClientList = z.object({ data: z.array(ClientKey) }).meta({ examples: [{ data: [exampleKey] }] })
export const ClientPath = z.object({
  id: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be a client id')
    .meta({ description: 'The `clientId`.', examples: [exampleKey.clientId] }),
})
export const ClientDeleted = z
  .object({ data: z.object({ deleted: z.string() }) })
  .meta({ examples: [{ data: { deleted: exampleKey.clientId } }] })

export const RecordPath = z.object({ id: count(1, MAX_ID).meta({ examples: [7] }) })
