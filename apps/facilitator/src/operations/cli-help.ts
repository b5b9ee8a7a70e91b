const EXIT_CODES = 'Exit codes: 0 done, 1 refused or failed, 2 not understood, 78 DATABASE_URL is not set.'

export const HELP = `The facilitator, from the command line. (It is served by: node dist/main.js)

  facilitator settlements list [OPTIONS]     what is open, or was reversed for good
  facilitator settlements show ID [--json]   all of one settlement, and what to expect of it
  facilitator settlements retry ID...        has open ones tried again at once
  facilitator users list [OPTIONS]           all users, and the share of the fees that each may cause
  facilitator users allow USER PERCENT       sets that share
  facilitator users disable|enable USER      takes all access from a user, or gives it back
  facilitator users log-out USER             revokes its refresh tokens
  facilitator clients allow ID PERCENT       sets the share of one client key
  facilitator invitations create             a token that admits one new user
  facilitator assets suspended [--json]      assets that were taken out of use by themselves, and why

${EXIT_CODES} More: facilitator AREA VERB --help
`

const DATABASE = `  DATABASE_URL   the facilitator's Postgres, from the environment; nothing else is needed`

export const LIST_HELP = `facilitator settlements list [--network NAME] [--state STATE] [--older-than SECONDS]
                             [--limit N] [--json]

Lists the settlements that are open, oldest first, a line each:

  claimed    wait to be signed; SENT says how often one was sent in vain
  signed     have a transaction that is not mined, or lacks confirmations
  reversed   had counted, were dropped by a reorg, and are on their way again

What is over is not listed, but for this, where --state asks for it, newest first:

  reversed-for-good   success was told of them, a reorg dropped them, and nobody can settle
                      them any more; REVERSED says since when, CLIENT whom to tell, and
                      REASON why

  --network      of this network only
  --state        in this state only: one of the four above
  --older-than   claimed at least so many seconds ago
  --limit        at most so many, 100 unless told; the last line says how many more there are
  --json         {"settlements": [...], "total": N}, with all addresses and hashes in full
  --help         this text
${DATABASE}

${EXIT_CODES}
`

export const SHOW_HELP = `facilitator settlements show ID [--json]

Shows all of one settlement, its transaction and every version that was signed of it, what
was paid for each that was mined, be it in vain, its client, and what to expect next. It
never shows what the payer signed, nor a token.

  --json         the same as JSON
  --help         this text
${DATABASE}

${EXIT_CODES}
`

export const RETRY_HELP = `facilitator settlements retry ID...

Has open settlements tried again at once, and says for each what is done:

  claimed               is looked at now, and sent if it would go through, even where so much
                        was sent in vain for its payer in the asset that it would not be by itself; a
                        node is believed though it is behind
  signed, or reversed   its transaction is signed with higher fees under the same nonce
                        and sent, as far as the network's max_fee_per_gas allows; refused
                        where the payer signed the transaction whole

Fees are raised by the key that signed the transaction. Where that was taken out of the
configuration, nothing is raised: the transaction is sent again as it is, by itself, where
a node has lost it. Put the key back, and retry then.

It is safe: no payment is ever made twice by it, whenever and however often it is run. One
that is over is refused. It only writes down the wish; the facilitator that owns the
signer carries it out within a second or so, or once there is one.

  --help         this text
${DATABASE}

${EXIT_CODES}
`

const SHARES = `A share is a percentage of each network's max_fees_per_day, 0 to 100 with two decimals at most. It
holds from the next payment on, on every replica; what was spent in the last 24 hours counts.`

export const USERS_HELP = `facilitator users list [--limit N] [--json]
facilitator users allow USER PERCENT
facilitator users disable USER
facilitator users enable USER
facilitator users log-out USER

USER is an id or an email.

  list      SHARE is "new" until somebody runs "allow": the service's NEW_USER_FEE_SHARE_PERCENT
  allow     sets the share of the fees that all client keys of the user may cause together
  disable   at once, on every replica: no login, no refresh, no access token, no client key;
            settlements that were claimed go on. Its refresh tokens are deleted
  enable    takes that back; client keys are good again. So is an access token from before,
            for as long as is left of its 15 minutes
  log-out   deletes its refresh tokens; an access token that it has lasts 15 minutes at most

${SHARES}

  --limit        at most so many, 100 unless told
  --json         {"users": [...], "total": N}
  --help         this text
${DATABASE}

${EXIT_CODES}
`

export const CLIENTS_HELP = `facilitator clients allow CLIENT_ID PERCENT

Sets the share of the fees that one client key may cause, within the share of its user.
Until then it is the service's CLIENT_KEY_FEE_SHARE_PERCENT.

${SHARES}

  --help         this text
${DATABASE}

${EXIT_CODES}
`

export const INVITATIONS_HELP = `facilitator invitations create [--days N]

Prints a token that admits one new user where the service runs with SIGN_UP=invitation: sent
as "invitation" with POST /signup. Only its hash is stored: it is not shown again.

  --days         for so many days, 7 unless told
  --help         this text
${DATABASE}

${EXIT_CODES}
`

export const SUSPENDED_HELP = `facilitator assets suspended [--json]

Lists the assets that the facilitator took out of use by itself, since when and why. To resume one,
POST /admin/assets with "active": true: it is simulated again first.

  --json         {"assets": [...]}
  --help         this text
${DATABASE}

${EXIT_CODES}
`
