import { encodeJson } from '@tollgate/protocol'
import {
  bearer,
  headerTexts,
  hostileTexts,
  live,
  often,
  spoiledText,
  strangeAuthorization,
  type Described,
  type Headers,
  type RequestOptions,
} from '@tollgate/testing/reference'
import fc from 'fast-check'

/** Live values by name. Keys: two valid, one with another scope, one revoked, one expired. */
export const liveCounts = {
  user: 2,
  admin: 1,
  refresh: 3,
  key: 5,
  spare: 60,
  resource: 12,
  payment: 80,
  challenge: 40,
  recipient: 40,
  invitation: 40,
  leaver: 30,
  session: 20,
  webhook: 4,
  registered: 1,
}

/** They end sessions or change a password: of users whom nothing else needs. All have one password. */
const LEAVING = ['logOut', 'endOtherSessions', 'changePassword', 'deleteUser']

/** They name a session, a webhook or a delivery of one user, whom nothing else needs. */
const isOfOwner = (operationId: string) =>
  operationId === 'endSession' || /^(?!create|list)\w+Webhook|^listWebhookDeliveries/.test(operationId)

/** Deliveries belong to the first webhook, which stays active. */
const webhookFor = (operationId: string) => {
  if (operationId === 'updateWebhook') return fc.constant('<<webhook:1>>')
  if (operationId === 'deleteWebhook') return fc.constantFrom('<<webhook:2>>', '<<webhook:3>>')
  return fc.constant('<<webhook:0>>')
}

export const requestOptions: RequestOptions = {
  weightOf({ path, operation: { operationId, requestBody } }) {
    if (/^(signUp|logIn|createUser)/.test(operationId)) return 2
    if (operationId.startsWith('registerAsset')) return 4
    if (/^(verify|settle)/.test(operationId)) return 24
    return requestBody ? 16 : path.includes('{') ? 8 : 3
  },

  headersOf: ({ operation }) =>
    fc
      .tuple(
        credentialsFor(operation),
        operation.operationId.startsWith('settle') ? idempotencyKeys : fc.constant<Headers>([]),
      )
      .map((lists) => lists.flat()),

  pathOf({ operation: { operationId } }, name) {
    if (name === 'deliveryId') return fc.constant('<<delivery:0>>')
    if (/^(deleteRecipient|unassignRecipient)/.test(operationId))
      return live('recipient', liveCounts.recipient)
    if (operationId.startsWith('deleteInvitation')) return live('invitation', liveCounts.invitation)
    if (operationId === 'endSession') return live('session', liveCounts.session)
    if (isOfOwner(operationId)) return webhookFor(operationId)
    if (operationId.startsWith('issuePasswordReset')) return live('leaverId', liveCounts.leaver)
    if (operationId.startsWith('activateAsset')) return live('registered', liveCounts.registered)
    // The first payments of the run.
    if (/^(read|retry).*Settlement/.test(operationId)) return fc.integer({ min: 1, max: 20 }).map(String)
    if (operationId === 'deleteClient') return live('spare', liveCounts.spare)
    // Ids of settlements count from one.
    if (operationId === 'getSettlement') return fc.integer({ min: 1, max: 12 }).map(String)
    return operationId === 'updateResource' ? live('resource', liveCounts.resource) : undefined
  },

  bodyOf({ operation: { operationId } }, example) {
    if (/^(verify|settle).*AtRoot$/.test(operationId)) return fc.oneof(payments(false), payments(true))
    if (/^(verify|settle)/.test(operationId)) return payments(operationId.endsWith('V2'))
    if (operationId === 'reserveRecipient')
      return fc.nat({ max: liveCounts.challenge - 1 }).map((index) => ({
        nonce: `<<nonceOf:${index}>>`,
        signature: `<<textSignature:${index}>>`,
      }))
    if (operationId.startsWith('assignRecipient'))
      return fc.constant({ ...(example as object), email: '<<email:0>>' })
    if (operationId === 'refreshToken')
      return live('refresh', liveCounts.refresh).map((refresh_token) => ({ refresh_token }))
    if (operationId === 'changePassword')
      return fc.constant({ ...(example as object), current_password: '<<leaverPassword:0>>' })
    if (operationId === 'deleteUser') return fc.constant({ password: '<<leaverPassword:0>>' })
    if (operationId === 'resetPassword')
      return live('reset', liveCounts.leaver).map((token) => ({ ...(example as object), token }))
    if (operationId === 'logIn')
      return often(
        fc.constant({ email: '<<email:0>>', password: '<<password:0>>' }),
        emails.map((email) => ({ email, password: '<<password:0>>' })),
      )
    if (/^(signUp|createUser)/.test(operationId))
      return often(fc.emailAddress(), emails, 2).map((email) => ({ ...(example as object), email }))
    return fc.constant(example)
  },
}

/** Confusable and invalid emails. */
const emails = fc.oneof(
  hostileTexts.map((text) => `${text}@example.com`),
  fc.constantFrom(
    ...['<<email:0>>\u0000', '<<email:0>>\r\nBcc: x@example.com', ' <<email:0>>', '<<email:0>> '],
    ...['<<EMAIL:0>>', 'sh\u043ep@example.com', '\uff53hop@example.com', 'shop@ex\u0430mple.com'],
    ...['shop@example.com\u202e', '"shop"@example.com', 'shop@[127.0.0.1]', `${'x'.repeat(250)}@example.com`],
  ),
)

const key = (id: string, token: string): Headers => [
  ['x-client-id', id],
  ['x-client-token', token],
]
const ofKey = (index: number) => key(`<<clientId:${index}>>`, `<<clientToken:${index}>>`)

const validKeys = fc.constantFrom(ofKey(0), ofKey(1))
const strangeKeys: fc.Arbitrary<Headers> = fc.oneof(
  fc.constantFrom<Headers>(
    ...[ofKey(3), ofKey(4), []],
    ...[key('<<clientId:0>>', '<<clientToken:1>>'), key('<<clientToken:0>>', '<<clientId:0>>')],
    ...[ofKey(0).slice(0, 1), ofKey(0).slice(1), [...ofKey(0), ...ofKey(1)]],
    [['authorization', 'Bearer <<user:0>>']],
  ),
  fc.tuple(headerTexts, headerTexts).map(([id, token]) => key(id, token)),
  headerTexts.map((token) => key('<<clientId:0>>', token)),
)

function credentialsFor({ security, operationId }: Described['operation']): fc.Arbitrary<Headers> {
  const invalidTokens = (good: string) =>
    strangeAuthorization(good, '<<user:1>>', '<<refresh:0>>', '<<clientToken:0>>', '<<adminToken:0>>')
  const [needed] = security
  if (needed === undefined) return often(fc.constant<Headers>([]), invalidTokens('<<user:0>>'), 12)
  if ('clientId' in needed) return often(often(validKeys, fc.constant(ofKey(2)), 12), strangeKeys)
  if ('admin' in needed)
    return often(bearer(fc.constant('<<adminToken:0>>')), invalidTokens('<<admin:0>>'), 8)
  if (LEAVING.includes(operationId))
    return often(bearer(live('leaver', liveCounts.leaver)), invalidTokens('<<leaver:0>>'), 8)
  if (isOfOwner(operationId))
    return often(bearer(fc.constant('<<owner:0>>')), invalidTokens('<<owner:0>>'), 8)
  const isOwn = ['deleteClient', 'updateResource', 'reserveRecipient', 'deleteRecipient'].includes(
    operationId,
  )
  const users = isOwn ? fc.constant('<<user:0>>') : live('user', liveCounts.user)
  return often(
    bearer(often(users, fc.constantFrom('<<user:1>>', '<<admin:0>>'))),
    invalidTokens('<<user:0>>'),
    8,
  )
}

const idempotencyKeys: fc.Arbitrary<Headers> = fc.oneof(
  { weight: 10, arbitrary: fc.constant<Headers>([]) },
  { weight: 3, arbitrary: fc.uuid().map((text): Headers => [['idempotency-key', text]]) },
  { weight: 1, arbitrary: headerTexts.map((text): Headers => [['idempotency-key', text]]) },
)

const signed = (index: number) => ({
  signature: `<<signature:${index}>>`,
  authorization: {
    from: `<<from:${index}>>`,
    to: `<<payTo:${index}>>`,
    value: '10000',
    validAfter: `<<validAfter:${index}>>`,
    validBefore: `<<validBefore:${index}>>`,
    nonce: `<<nonce:${index}>>`,
  },
})

const encoded = (index: number): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(`<<encoded:${index}>>`) },
    { weight: 1, arbitrary: hostileTexts },
    { weight: 1, arbitrary: hostileTexts.map((text) => Buffer.from(text).toString('base64')) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }).map(encodeJson) },
    {
      weight: 1,
      arbitrary: spoiledText(JSON.stringify(signed(index))).map((text) =>
        Buffer.from(text.slice(0, 40_000)).toString('base64'),
      ),
    },
  )

const payments = (isVersion2: boolean): fc.Arbitrary<unknown> =>
  fc.nat({ max: liveCounts.payment - 1 }).chain((index) =>
    often<unknown>(fc.constant(signed(index)), encoded(index), 4).map((payload) => {
      const terms = {
        scheme: 'exact',
        asset: '<<asset:0>>',
        payTo: `<<payTo:${index}>>`,
        maxTimeoutSeconds: 60,
        extra: { name: 'USDC', version: '2' },
      }
      if (isVersion2) {
        const required = { ...terms, network: 'eip155:84532', amount: '10000' }
        const paymentPayload = {
          x402Version: 2,
          resource: { url: 'https://shop.example/report' },
          accepted: required,
          payload,
        }
        return { x402Version: 2, paymentPayload, paymentRequirements: required }
      }
      return {
        x402Version: 1,
        paymentPayload: { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload },
        paymentRequirements: {
          ...terms,
          network: 'base-sepolia',
          maxAmountRequired: '10000',
          resource: 'https://shop.example/report',
          description: '',
          mimeType: '',
        },
      }
    }),
  )
