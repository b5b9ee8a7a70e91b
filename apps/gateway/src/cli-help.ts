const EXIT_CODES = 'Exit codes: 0 done, 1 refused or failed, 2 not understood, 78 DATABASE_URL is not set.'

export const HELP = `The gateway, from the command line. (It is served by: node dist/main.js)

  gateway catalog apply FILE [--dry-run]   sets the plans that are sold and the providers that calls go to

${EXIT_CODES} More: gateway catalog --help
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
