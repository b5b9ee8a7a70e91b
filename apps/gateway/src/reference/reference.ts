import { createOpenApi, createReference, type Operation } from '@tollgate/service'
import { accountOperations } from './operations/accounts'
import { callOperations } from './operations/calls'
import { catalogOperations } from './operations/catalog'
import { ownOperations } from './operations/service'
import { signInOperations } from './operations/sign-in'

const operations: Operation[] = [
  ...signInOperations,
  ...catalogOperations,
  ...callOperations,
  ...accountOperations,
  ...ownOperations,
]

const descriptionFor = (
  names: readonly string[],
) => `A wallet signs in, buys credits and spends them on calls. There are no passwords and no API keys, and this service never sees a private key.

1. Get a nonce: \`GET /auth/nonce?address=<wallet>\`.
2. Sign this text with the wallet: \`<service name> wants you to sign in.\`, an empty line, \`Address: <wallet>\`, \`Nonce: <nonce>\`, \`Issued At: <ISO 8601 time>\`. The service name is ${names.map((name) => `\`${name}\``).join(' or ')}. An EIP-4361 message for one of these, as its domain, will do as well, and for a Cosmos wallet its CAIP-122 form. Ethereum wallets sign by EIP-191 (\`personal_sign\`), Cosmos wallets by ADR-036 (\`signArbitrary\`).
3. Send text and signature, of a Cosmos wallet also its \`pubkey\`, to \`POST /auth/login\`; the answer holds a bearer token for one hour and a refresh token.
4. Send calls to \`POST /rpc\` with \`Authorization: Bearer <token>\`.
5. On 402 read \`paymentRequirements\` (or, as x402 clients do, \`accepts\`, or the header \`PAYMENT-REQUIRED\`), sign the payment, and send the same request again with it in \`X-PAYMENT\` (or \`PAYMENT-SIGNATURE\`). It is settled on chain, the credits are issued, and the call is made.
6. On 503 \`PAYMENT_PENDING\` send the same request with the same payment again; never pay a second time.

Bodies are JSON in UTF-8. A refusal is \`{ code, message, details? }\`, but for the 402 of \`POST /rpc\`. Amounts are decimal digits in a string, in the asset’s smallest unit.`

/** The gateway's OpenAPI document, for callers at `publicUrl` who sign in to one of `names`. */
export const gatewayDocument = (publicUrl: string, names: readonly string[]) =>
  createOpenApi(
    {
      title: 'Tollgate gateway',
      version: '0.1.0',
      summary: 'Paid RPC and REST calls to blockchains: sign in with a wallet, pay over x402.',
      description: descriptionFor(names),
      url: publicUrl,
      tags: [
        { name: 'Sign-in', description: 'A wallet proves itself by a signature, and gets tokens.' },
        { name: 'Catalog', description: 'What is sold, where calls go, and how to pay.' },
        { name: 'Calls', description: 'What the credits are for.' },
        {
          name: 'Accounts',
          description: 'Balances, calls and payments of a wallet. Open to all, as the chains are.',
        },
        { name: 'Service', description: 'Probes, and this reference in its forms.' },
      ],
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Bearer token from `POST /auth/login`.',
        },
      },
    },
    operations,
  )

/** Handlers for `/openapi.json`, `/docs` and `/llms.txt`. */
export const createGatewayReference = (publicUrl: string, names: readonly string[]) =>
  createReference(gatewayDocument(publicUrl, names), [
    {
      name: 'OpenAPI 3.1',
      path: '/openapi.json',
      note: 'every operation with its schemas, answers and examples',
    },
    { name: 'Reference', path: '/docs', note: 'the same as a page to read' },
    {
      name: 'x402 discovery',
      path: '/.well-known/x402',
      note: 'the paid endpoint and the plans that are sold now',
    },
  ])
