import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOpenApi, createReference, type Operation } from '@tollgate/service'
import { type FreeCredits } from '../accounts/free-credits'
import { type Catalog } from '../catalog/catalog'
import { type Environment } from '../config'
import { accountOperations } from './operations/accounts'
import { callOperations } from './operations/calls'
import { catalogOperations } from './operations/catalog'
import { keyOperations } from './operations/keys'
import { plainCallOperations } from './operations/plain-calls'
import { ownOperations } from './operations/service'
import { signInOperations } from './operations/sign-in'
import { webhookOperations } from './operations/webhooks'
import { readPaymentInfo } from './payment-info'
import { createPricedDocument } from './priced-document'

const { version } = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')) as {
  version: string
}

const operations: Operation[] = [
  ...signInOperations,
  ...catalogOperations,
  ...callOperations,
  ...plainCallOperations,
  ...keyOperations,
  ...webhookOperations,
  ...accountOperations,
  ...ownOperations,
]

const descriptionFor = (
  publicUrl: string,
  names: readonly string[],
  free: FreeCalls,
) => `${firstCallsOf(free)}A wallet pays for calls to blockchains, without an account or a password. This service never sees a private key.

Without a sign-in, in two requests:

1. Send the call to the plain URL of a chain, such as \`POST ${publicUrl}/v1/eip155:8453\` with a JSON-RPC body; \`GET /providers\` lists the chains. The response is 402: its header \`PAYMENT-REQUIRED\` and its body say what to pay, and to whom.
2. Sign one of the payments of \`accepts\`, and send the same request again with it in \`PAYMENT-SIGNATURE\` (or \`X-PAYMENT\`). The response is that of the chain. Public x402 clients do both steps. A payment buys more credits than one call costs: a client with the extension \`sign-in-with-x\` spends them in its next calls, and pays again only when they are spent.

With a sign-in, for sessions and for access keys, which go into a URL:

1. Get a nonce: \`GET /auth/nonce?address=<wallet>\`.
2. ${names.includes('*') ? anyDomain(publicUrl) : ownNames(names)} Ethereum wallets sign by EIP-191 (\`personal_sign\`), Cosmos wallets by ADR-036 (\`signArbitrary\`).
3. Send the text and the signature to \`POST /auth/login\`, from a Cosmos wallet also its \`pubkey\`; the response has a bearer token for one hour and a refresh token.
4. Send calls to \`POST /rpc\` with \`Authorization: Bearer <token>\`.
5. On 402 read \`paymentRequirements\` (x402 clients read \`accepts\` or the header \`PAYMENT-REQUIRED\`), sign the payment, and send the same request again with it in \`X-PAYMENT\` (or \`PAYMENT-SIGNATURE\`). The gateway settles it on chain, issues the credits, and makes the call.
6. On 503 \`PAYMENT_PENDING\` send the same request with the same payment again; never pay a second time.

Bodies are JSON in UTF-8. An error is \`{ code, message, details? }\`, except the 402 of \`POST /rpc\`. Amounts are decimal digits in a string, in the asset’s smallest unit.`

const ownNames = (names: readonly string[]) =>
  `Sign this text with the wallet: \`<service name> wants you to sign in.\`, an empty line, \`Address: <wallet>\`, \`Nonce: <nonce>\`, \`Issued At: <ISO 8601 time>\`. The service name is ${names.map((name) => `\`${name}\``).join(' or ')}. An EIP-4361 message with one of these names as its domain, or with the host of this service as its domain and in its \`URI\`, is also accepted, and its CAIP-122 form from a Cosmos wallet.`

const anyDomain = (publicUrl: string) =>
  `Sign an EIP-4361 message with the wallet, or its CAIP-122 form from a Cosmos wallet. Its domain is your app’s own, its \`URI\` is of the same host, and its \`Resources\` name \`${publicUrl}\`. A browser must send it from a page of that domain.`

/** Credits that cost nothing. */
type FreeCalls = Pick<FreeCredits, 'perWallet' | 'perAddress'>

function firstCallsOf({ perWallet, perAddress }: FreeCalls): string {
  const wallets = `a new wallet has ${perWallet} free credits once it has signed in`
  const addresses = `a network address has ${perAddress} free credits a day for calls to plain URLs without a payment`
  const free = [...(perWallet > 0 ? [wallets] : []), ...(perAddress > 0 ? [addresses] : [])]
  return free.length === 0
    ? ''
    : `The first calls are free: ${free.join(', and ')}, as long as the gateway has some to give. A call costs at least one credit.\n\n`
}

const gatewayDocument = (publicUrl: string, names: readonly string[], free: FreeCalls) =>
  createOpenApi(
    {
      title: 'Tollgate gateway',
      version,
      summary: 'Paid RPC and REST calls to blockchains: sign in with a wallet, pay over x402.',
      description: descriptionFor(publicUrl, names, free),
      url: publicUrl,
      tags: [
        { name: 'Sign-in', description: 'A wallet signs in and gets tokens.' },
        { name: 'Catalog', description: 'Plans, providers and payment methods.' },
        { name: 'Calls', description: 'Paid calls to the providers.' },
        {
          name: 'Plain URLs',
          description: 'The same calls, for clients that know a chain and nothing of this service.',
        },
        { name: 'Access keys', description: 'Secrets for clients that cannot set a header.' },
        { name: 'Webhooks', description: 'Events of payments and credits, sent to your server.' },
        {
          name: 'Accounts',
          description: 'Balances, calls and payments of a wallet. Public, like the chains.',
        },
        { name: 'Service', description: 'Health probes and the API reference.' },
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

export function createGatewayReference(
  { PUBLIC_URL, SIGN_IN_DOMAINS }: Pick<Environment, 'PUBLIC_URL' | 'SIGN_IN_DOMAINS'>,
  free: FreeCalls,
  catalog: Pick<Catalog, 'getActivePlans' | 'readProviders'>,
) {
  const document = gatewayDocument(PUBLIC_URL, SIGN_IN_DOMAINS, free)
  const priced = createPricedDocument(document)
  return createReference(document, links, async () => priced(await readPaymentInfo(catalog)))
}

const links = [
  {
    name: 'OpenAPI 3.1',
    path: '/openapi.json',
    note: 'every operation with its schemas, responses and examples',
  },
  { name: 'Reference', path: '/docs', note: 'the same as a page' },
  {
    name: 'x402 discovery',
    path: '/.well-known/x402',
    note: 'the paid endpoint and the plans on sale',
  },
]
