import { FacilitatorHealth } from '@tollgate/protocol'
import { createOpenApi, createReference, serviceOperations, type Operation } from '@tollgate/service'
import { accountOperations } from './operations/accounts'
import { adminOperations } from './operations/admin'
import { metricsOperations } from './operations/metrics'
import { networkOperations } from './operations/networks'
import { paymentOperations } from './operations/payments'
import { resourceOperations } from './operations/resources'

const operations: Operation[] = [
  ...paymentOperations,
  ...networkOperations,
  ...accountOperations,
  ...resourceOperations,
  ...metricsOperations,
  ...adminOperations,
  ...serviceOperations('Service', { title: 'Tollgate facilitator', health: FacilitatorHealth }),
]

const descriptionFor = (
  publicUrl: string,
) => `A server that sells over x402 has this service verify the payments it receives and settle them on chain. Buyers need no account here, and this service holds nobody’s money: each payment goes from the buyer to the seller.

For a seller:

1. Sign up: \`POST /api/v1/signup\` with \`email\` and \`password\`.
2. Log in: \`POST /api/v1/login\`; the answer holds an access token for 15 minutes and a refresh token for 30 days.
3. Create a client key: \`POST /api/v1/clients\` with a \`title\` and \`Authorization: Bearer <access token>\`. Keep \`clientId\` and \`token\`: the token is shown once.
4. Give the key to the x402 middleware of your server, with \`${publicUrl}/api/v1\` as its facilitator: it must send \`X-Client-ID\` and \`X-Client-Token\`. For x402 version 2 the facilitator is \`${publicUrl}/api/v2\`.
5. Get paid: your server asks \`POST /api/v1/verify\` before it works and \`POST /api/v1/settle\` before it answers. The buyer’s payment goes to your \`payTo\` in one transaction, whose fee is paid here.

\`GET /api/v1/networks\` and \`GET /api/v1/assets\` say where and in what payments are taken. A payment that is refused is an answer, 200 with \`isValid\` or \`success\` false and a reason; on \`settlement_pending\`, or where an answer is lost, send the same request again.

Operators register assets and make accounts under \`/api/v1/admin\`, or \`/admin\`, with the admin token of the configuration as bearer token. Accounts with \`isAdmin\` see everybody’s keys, resources and metrics.

Bodies are JSON in UTF-8. A refusal is \`{ code, message, details? }\`, but for the 401 of login and of token refresh, which have no \`code\`. Amounts are decimal digits in a string, in the asset’s smallest unit.`

/** The facilitator's OpenAPI document, for callers at `publicUrl`. */
const facilitatorDocument = (publicUrl: string, version: string) =>
  createOpenApi(
    {
      title: 'Tollgate facilitator',
      version,
      summary: 'Verifies and settles x402 payments on chain.',
      description: descriptionFor(publicUrl),
      url: publicUrl,
      tags: [
        { name: 'x402 version 1', description: 'What a resource server asks, by client key.' },
        { name: 'x402 version 2', description: 'The same in the words of version 2.' },
        { name: 'Networks', description: 'Where and in what payments are taken.' },
        { name: 'Accounts', description: 'Users, and the client keys of their servers.' },
        { name: 'Resources', description: 'What is sold, for clients to find.' },
        { name: 'Metrics', description: 'What was asked, and what was settled.' },
        { name: 'Admin', description: 'For operators, by the admin token. Served under two paths.' },
        { name: 'Service', description: 'Probes, and this reference in its forms.' },
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
          description: 'Client token in `X-Client-Token`, from the same answer.',
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

/** Handlers for `/openapi.json`, `/docs` and `/llms.txt`. */
export const createFacilitatorReference = (publicUrl: string, version: string) =>
  createReference(facilitatorDocument(publicUrl, version), [
    {
      name: 'OpenAPI 3.1',
      path: '/openapi.json',
      note: 'every operation with its schemas, answers and examples',
    },
    { name: 'Reference', path: '/docs', note: 'the same as a page to read' },
    {
      name: 'x402 discovery',
      path: '/discovery/resources',
      note: 'the resources that are sold through this service now',
    },
  ])
