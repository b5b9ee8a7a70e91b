const EXIT_CODES = 'Exit codes: 0 done, 1 refused or failed, 2 not understood, 78 DATABASE_URL is not set.'

export const HELP = `The gateway, from the command line. (It is served by: node dist/main.js)

  gateway catalog apply FILE [--dry-run]   sets the plans that are sold and the providers that calls go to
  gateway payments disputed                lists payments that an operator has to decide about
  gateway payments credit|close ID         grants the credits of such a payment, or ends it without

${EXIT_CODES} More: gateway catalog --help, gateway payments --help
`

export const PAYMENTS_HELP = `gateway payments disputed
gateway payments credit ID
gateway payments close ID

A payment is disputed where the token moved something else than its payer signed, such as
an amount less a fee: the wallet was charged, and nothing was credited. The facilitator
suspends the token then. While a payment is disputed its wallet is not asked for another
one on the plan (409 PAYMENT_DISPUTED).

  disputed       a line for each, oldest first: id, time, wallet, plan, amount, credits
                 and the transaction that moved the money
  credit ID      grants the credits of the payment, as if it had settled
  close ID       ends the payment as failed: nothing is credited, and the wallet may pay
                 again. Give the money back first, where it is to be given back
  --help         this text
  DATABASE_URL   the gateway's Postgres, from the environment

Each takes effect once, however often it is run.

${EXIT_CODES}
`

export const CATALOG_HELP = `gateway catalog apply FILE [--dry-run]

Makes the plans and providers of the gateway's database those of FILE (YAML), in one
transaction, and prints a line for each thing that changed. Doing so twice changes
nothing. A file in which anything is wrong is refused, with the lines and the reasons.
Gateways that run take the change over within a second.

  --dry-run      prints what would change, and writes nothing
  --help         this text
  DATABASE_URL   the gateway's Postgres, from the environment

What FILE leaves out is retired, never deleted: a retired plan is not listed and not
sold, and credits that were bought on it are spent to the last.

A plan's price, credits and recipient may change at any time. A payment that has
reached the gateway keeps the terms it came with; one that was signed for an old price
or recipient and comes later is refused and nothing is charged, and one that comes
after a change of credits alone buys the new number. Once a wallet has signed in on a
plan, its network, chain_id, ecosystem, asset_address and decimals stay: retire the
plan, and add another with a new id.

Base URLs are shown to everyone in GET /providers. They may hold no user or password,
and should hold no key that is yours alone.

The providers of a plan's chain are asked whether a contract wallet vouches for a
sign-in (EIP-1271): all of them, and one no is a no. With a single provider that one is
trusted with who signs in there, so give nodes you trust, over https.

${EXIT_CODES}
`
