const EXIT_CODES = 'Exit codes: 0 done, 1 refused or failed, 2 usage error, 78 DATABASE_URL is not set.'

export const HELP = `Administers the gateway. (node dist/main.js serves it.)

  gateway catalog apply FILE [--dry-run]   sets the plans that are sold and the providers that calls go to
  gateway audit                            checks every account and payment, as after a restore
  gateway payments disputed                lists payments that an operator must decide about
  gateway payments credit|close ID         grants the credits of such a payment, or closes it without
  gateway payments spent                   lists payments whose authorization was used before they came
  gateway payments credit ID TRANSACTION   grants the credits of such a payment, as after a restore

${EXIT_CODES} More: gateway AREA --help
`

export const AUDIT_HELP = `gateway audit

Checks every account: its balance is its grants and refunds less its calls, and not below
zero, each credited payment has its grant, and no transaction that an operator named is in
another payment of the payer. Reads only, also while gateways run; a call that begins
meanwhile is no violation.

Prints the time of the newest row, which tells how much a restored backup lacks, then the
sums, and a line for each violation, of accounts for a thousand at most. Exits with 1 if
there is one. A statement may take an hour.

  --help         prints this text
  DATABASE_URL   the gateway's Postgres, from the environment

${EXIT_CODES}
`

export const PAYMENTS_HELP = `gateway payments disputed
gateway payments credit ID
gateway payments close ID
gateway payments spent
gateway payments credit ID TRANSACTION [--shared-transaction]

A payment is disputed if the token moved another amount than its payer signed, such as one
less a fee: the wallet was charged and got no credits. The facilitator then suspends the
token. The gateway does not ask the wallet for another payment on the plan (409
PAYMENT_DISPUTED).

  disputed       prints one line for each, all, oldest first: id, time, wallet, plan, amount,
                 credits and the transaction that moved the money
  credit ID      grants the credits of the payment, as if it had settled
  close ID       ends the payment as failed without credits; the wallet may pay again.
                 If you refund the money, do so first
  spent          prints likewise, newest first, the payments that were refused because their
                 authorization had been used (invalid_transaction_state, or if the facilitator
                 settled them before, duplicate_settlement). After a restore these are also
                 payments that this gateway took before: the buyer sent one again, and the
                 backup lacks it
  credit ID TRANSACTION
                 grants the credits of such a payment. First look TRANSACTION up on the chain:
                 it must have moved the amount from the payer to the plan's recipient, by this
                 authorization
                 Refused if another payment of the same authorization is credited or open: a buyer
                 who sends a Cosmos transaction again makes a further payment
                 Refused if another payment of the same payer has TRANSACTION, unless you pass
                 --shared-transaction
  --shared-transaction
                 states that TRANSACTION moved the money of each of these payments, by the
                 authorization of each: the facilitator batches payments on EVM networks.
                 For a payment that has been credited with TRANSACTION it is only recorded, and
                 gateway audit then does not report it
  --help         prints this text
  DATABASE_URL   the gateway's Postgres, from the environment

The commands are idempotent.

${EXIT_CODES}
`

export const CATALOG_HELP = `gateway catalog apply FILE [--dry-run]

Replaces the plans and providers in the gateway's database by those of FILE (YAML), in
one transaction, and prints a line for each change. Idempotent. A file with errors is
refused, with the line and reason of each. Running gateways use the new catalog within a
second.

  --dry-run      prints the changes and writes nothing
  --help         prints this text
  DATABASE_URL   the gateway's Postgres, from the environment

Entries that FILE omits are retired, never deleted: a retired plan is neither listed nor
sold, and the credits bought on it can still be spent.

A plan's price, credits and recipient can change at any time. A payment that has reached
the gateway keeps its terms. A later payment signed for an old price or recipient is
refused and not charged; after a change of credits alone it buys the new number. Once a
wallet has signed in on a plan, its network, chain_id, ecosystem, asset_address and
decimals are fixed: retire the plan, and add another with a new id.

The providers of a chain are tried in the order of FILE, the addresses of each in its order.
The first one decides what a method costs.

Secrets are not in FILE: in a URL of a provider, and in the values of its headers,
\${env:NAME} stands for a variable, and \${file:/path} for the content of a file. The
database stores these references; each gateway reads the values, and a changed file within
two seconds. An active provider whose secret is missing where this command runs is
refused; with --dry-run it is a warning. A URL without a secret is public in
GET /providers; in place of one with a secret, or with headers, the gateway's own URL of
the chain stands there.

The gateway asks every provider of a plan's chain whether a contract wallet accepts a
sign-in (EIP-1271); one refusal refuses it. A single provider is trusted with every
sign-in of contract wallets there, so use nodes that you trust, over https.

${EXIT_CODES}
`
