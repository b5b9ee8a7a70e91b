import { FacilitatorHealth } from '@tollgate/protocol'
import { createOpenApi, createReference, serviceOperations, type Operation } from '@tollgate/service'
import { accountOperations } from './operations/accounts'
import { adminOperations } from './operations/admin'
import { adminRegistrationOperations } from './operations/admin-registration'
import { metricsOperations } from './operations/metrics'
import { networkOperations } from './operations/networks'
import { operatorOperations } from './operations/operator'
import { documentOperation, paymentOperations } from './operations/payments'
import { recipientOperations } from './operations/recipients'
import { resourceOperations } from './operations/resources'
import { sessionOperations } from './operations/sessions'
import { settlementOperations } from './operations/settlements'
import { webhookOperations } from './operations/webhooks'

const operations: Operation[] = [
  ...paymentOperations,
  documentOperation,
  ...networkOperations,
  ...accountOperations,
  ...sessionOperations,
  ...recipientOperations,
  ...settlementOperations,
  ...webhookOperations,
  ...resourceOperations,
  ...metricsOperations,
  ...adminOperations,
  ...adminRegistrationOperations,
  ...operatorOperations,
  ...serviceOperations('Service', { title: 'Tollgate facilitator', health: FacilitatorHealth }),
]

const descriptionFor = (
  publicUrl: string,
) => `This service verifies x402 payments for resource servers and settles them on chain. Buyers need no account. The service holds no funds: each payment goes from the buyer to the seller.

For a seller:

1. Sign up: \`POST /api/v1/signup\` with \`email\` and \`password\`.
2. Log in: \`POST /api/v1/login\`; the response has an access token for 15 minutes and a refresh token for 30 days.
3. Create a client key: \`POST /api/v1/clients\` with a \`title\` and \`Authorization: Bearer <access token>\`. Keep \`clientId\` and \`token\`: the token is shown once.
4. Give the key to the x402 middleware of your server, with \`${publicUrl}/api/v1\` as its facilitator: it must send \`X-Client-ID\` and \`X-Client-Token\`. For x402 version 2 the facilitator is \`${publicUrl}/api/v2\`. \`${publicUrl}\` itself serves both, by the \`x402Version\` of the body.
5. Get paid: your server calls \`POST /api/v1/verify\` before it does the work and \`POST /api/v1/settle\` before it responds. The buyer’s payment goes to your \`payTo\` in one transaction. The facilitator pays its fee.
6. Reserve your \`payTo\`: \`POST /api/v1/recipients/challenge\`, sign its message with that address, \`POST /api/v1/recipients\`. Then no other account can settle a stolen payment of yours.
7. Be notified: \`POST /api/v1/webhooks\` with the \`url\` of your server. Verify what it gets with a Standard Webhooks library.

\`GET /api/v1/networks\` and \`GET /api/v1/assets\` list the networks and assets that are accepted. An asset with \`assetTransferMethod\` \`permit2\` takes no EIP-3009 authorizations: requirements in it have its \`extra\` from \`/.well-known/x402\`, and are for x402 version 2. A refused payment is a 200 with \`isValid\` or \`success\` false and a reason. On \`settlement_pending\`, or if a response is lost, send the same request again.

Operators watch networks, signers, fees and open settlements, register assets, create accounts and invitations, reserve recipients and deny addresses under \`/api/v1/admin\` or \`/admin\`, with the admin token of the configuration as bearer token. Accounts with \`isAdmin\` see the keys, resources and metrics of all users.

Bodies are JSON in UTF-8. An error is \`{ code, message, details? }\`, except the 401 of login and of token refresh, which has no \`code\`. Amounts are decimal digits in a string, in the asset’s smallest unit.`

const facilitatorDocument = (publicUrl: string, version: string) =>
  createOpenApi(
    {
      title: 'Tollgate facilitator',
      version,
      summary: 'Verifies and settles x402 payments on chain.',
      description: descriptionFor(publicUrl),
      url: publicUrl,
      tags: [
        { name: 'x402 version 1', description: 'Verify and settle, for resource servers with a client key.' },
        { name: 'x402 version 2', description: 'The same in the format of version 2.' },
        {
          name: 'x402 of both versions',
          description: 'One base URL for public clients, which the version of the body selects.',
        },
        { name: 'Networks', description: 'Accepted networks and assets.' },
        { name: 'Accounts', description: 'Users, their sessions, and the client keys of their servers.' },
        { name: 'Settlements', description: 'Your payments: what became of each, and its transactions.' },
        { name: 'Webhooks', description: 'Events of your settlements, sent to your server.' },
        { name: 'Resources', description: 'Paid resources, for clients to discover.' },
        { name: 'Metrics', description: 'Requests and settlements.' },
        { name: 'Admin', description: 'For operators with the admin token. Served under two paths.' },
        { name: 'Service', description: 'Health probes and the API reference.' },
      ],
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Bearer token of a user, from `POST /api/v1/login`.',
        },
        clientId: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Client-ID',
          description: 'Client id in `X-Client-ID`, from `POST /api/v1/clients`.',
        },
        clientToken: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Client-Token',
          description: 'Client token in `X-Client-Token`, from the same response.',
        },
        admin: {
          type: 'http',
          scheme: 'bearer',
          description: 'Bearer token that the operator configured (`ADMIN_TOKEN`).',
        },
      },
    },
    operations,
  )

export const createFacilitatorReference = (publicUrl: string, version: string) =>
  createReference(facilitatorDocument(publicUrl, version), [
    {
      name: 'OpenAPI 3.1',
      path: '/openapi.json',
      note: 'every operation with its schemas, responses and examples',
    },
    { name: 'Reference', path: '/docs', note: 'the same as a page' },
    {
      name: 'x402 discovery',
      path: '/discovery/resources',
      note: 'the resources on sale through this service',
    },
    {
      name: 'Facilitator document',
      path: '/.well-known/x402',
      note: 'what this facilitator supports, and its addresses',
    },
  ])
