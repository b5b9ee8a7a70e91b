const EXIT_CODES = 'Exit codes: 0 done, 1 refused or failed, 2 not understood, 78 DATABASE_URL is not set.'

export const HELP = `Operates a facilitator through its database. (The service itself: node dist/main.js)

  facilitator settlements list [OPTIONS]     open settlements, or those that are reversed for good
  facilitator settlements show ID [--json]   one settlement, its transaction and its next step
  facilitator settlements retry ID...        retries open settlements at once
  facilitator settlements audit              checks all settlements, as after a restore
  facilitator users list [OPTIONS]           all users and their fee shares
  facilitator users allow USER PERCENT       sets the fee share of a user
  facilitator users disable|enable USER      removes or restores all access of a user
  facilitator users log-out USER             ends its sessions
  facilitator users reset-password USER      prints a token to set a new password with
  facilitator clients create OPTIONS         makes the client key of a gateway, and stores it as a Secret
                                             of Kubernetes or in an env file
  facilitator clients allow ID PERCENT       sets the fee share of one client key
  facilitator clients delete ID              ends one client key
  facilitator invitations list|create        lists invitations; creates one for one new user
  facilitator invitations delete ID          deletes an unused invitation
  facilitator recipients list [OPTIONS]      reserved recipients
  facilitator recipients reserve USER NETWORK ADDRESS
                                             only USER's client keys settle payments to ADDRESS
  facilitator recipients release ID          ends a reservation
  facilitator denied-addresses list          addresses whose payments are refused
  facilitator denied-addresses add|remove ADDRESS
  facilitator assets suspended [--json]      suspended assets, and why

${EXIT_CODES} More: facilitator AREA VERB --help
`

const DATABASE = `  DATABASE_URL   the facilitator's Postgres, from the environment`

export const LIST_HELP = `facilitator settlements list [--network NAME] [--state STATE] [--older-than SECONDS]
                             [--limit N] [--json]

Lists the open settlements, oldest first:

  claimed    waits for signature; SENT counts failed attempts
  signed     its transaction waits for a block or for confirmations
  reversed   was settled, then dropped by a reorg; it is sent again

--state reversed-final lists, newest first:

  reversed-final   success was reported, then a reorg dropped the payment and it cannot be
                      settled any more. Tell CLIENT

  --network      only this network
  --state        only this state, one of the four above
  --older-than   claimed at least this many seconds ago
  --limit        at most this many (default 100); the last line counts the others
  --json         {"settlements": [...], "total": N}, with full addresses and hashes
  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const SHOW_HELP = `facilitator settlements show ID [--json]

Shows one settlement, its client, its transaction with every signed version, the fees paid
so far, and the code of its next step, which docs/operate/runbook.md#next-steps explains. Shows
neither the payer's signature nor tokens.

  --json         prints JSON
  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const AUDIT_HELP = `facilitator settlements audit

Checks all settlements and transactions: what is settled is mined, each fee is the sum of
its shares, and each transaction can be sent again. Reads only, also while facilitators run.

Prints the time of the newest row, which tells how much a restored backup lacks; then the
settlements by state; each signer with its newest nonce, its pending transactions, and the
nonces in between that no row has: those that were used after a backup, once later ones
are used; and a line for each violation, of a kind for a thousand at most. Exits with 1 if
there is one. A statement may take an hour.

  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const RETRY_HELP = `facilitator settlements retry ID...

Retries open settlements at once, and prints the action for each:

  claimed               validated now and sent if it would succeed, even if failed attempts for its
                        payer and asset have paused it, and even if the node is stale
  signed, or reversed   its transaction is replaced under the same nonce with higher fees, up to
                        the network's max_fee_per_gas; refused if the payer signed it

Only the key that signed a transaction can raise its fees. If that key is no longer
configured, the transaction is resent as it is. Restore the key, then retry.

Safe to repeat: it never pays twice. Completed settlements are refused. The command records
the request; the facilitator that owns the signer acts on it within about a second.

  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

const SHARES = `A share is a percentage of each network's max_fees_per_day, 0 to 100 with two decimals at most. It
applies from the next payment on, on every replica, and counts the last 24 hours.`

export const USERS_HELP = `facilitator users list [--limit N] [--json]
facilitator users allow USER PERCENT
facilitator users disable USER
facilitator users enable USER
facilitator users log-out USER
facilitator users reset-password USER

USER is an id or an email.

  list             share "new" is the service's NEW_USER_FEE_SHARE_PERCENT; "allow" changes it
  allow            sets the fee share of all client keys of the user together
  disable          rejects its logins, tokens and client keys at once, on every replica, and ends its
                   sessions; claimed settlements continue
  enable           accepts its logins and client keys again; not of a deleted account
  log-out          ends its sessions: refuses its access and refresh tokens at once, on every replica
  reset-password   prints a token, valid once, for an hour: the user sends it as "token" with a new
                   "password" to POST /api/v1/password/reset, which ends its sessions. Only its hash
                   is stored. A new token ends the one before

${SHARES}

  --limit        at most this many (default 100)
  --json         {"users": [...], "total": N}
  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const CREATE_CLIENT_HELP = `facilitator clients create --owner EMAIL --secret [NAMESPACE/]NAME [OPTIONS]
facilitator clients create --owner EMAIL --dotenv PATH [OPTIONS]

Makes a client key, stores it as FACILITATOR_CLIENT_ID and FACILITATOR_CLIENT_TOKEN, and registers it
with this facilitator. If a key is stored already, only registers that one. Safe to repeat after any
failure; concurrent runs on one Secret end with one key. The token is not printed.

  --secret       a Secret, from a pod of the same cluster whose service account may get and patch it, and
                 create it if there is none; without NAMESPACE, in the namespace of the pod
  --dotenv       a file of NAME=VALUE lines; the other lines stay. One run at a time
  --owner        the user that owns a new key, by email. If there is none, it is created without a
                 login ("users reset-password" gives it one)
  --title        a note about the key (default gateway)
  --scope        operations of the key, separated by commas (default all)
  --fee-share    percentage for the key and its user, unless other shares are set; see "clients allow"
  --catalog      the gateway's catalog: reserves the recipient of each plan for the owner
  --recipient    NETWORK=ADDRESS to reserve for the owner; can be repeated
  --rotate       replaces a stored key by a new one of the same owner. The old one stays valid until
                 "clients delete"
  --service-account
                 folder of the service account's token, ca.crt and namespace
                 (default /var/run/secrets/kubernetes.io/serviceaccount)
  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const CLIENTS_HELP = `facilitator clients create ...          see facilitator clients create --help
facilitator clients allow CLIENT_ID PERCENT
facilitator clients delete CLIENT_ID

  allow     sets the fee share of one client key, within the share of its user. The default is
            the service's CLIENT_KEY_FEE_SHARE_PERCENT
  delete    rejects the key from now on, on every replica; claimed settlements continue

${SHARES}

  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const INVITATIONS_HELP = `facilitator invitations create [--days N] [--email EMAIL]
facilitator invitations list [--limit N] [--json]
facilitator invitations delete ID

  create    prints a code that lets one user sign up while SIGN_UP=invitation: send it as
            "invitation" with POST /signup. Only its hash is stored, so it cannot be shown again
  list      newest first, without the codes
  delete    deletes an invitation that was not used

  --days         valid for this many days (default 7)
  --email        only for a sign-up with this email
  --limit        at most this many (default 100)
  --json         {"invitations": [...]}
  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const RECIPIENTS_HELP = `facilitator recipients list [--limit N] [--json]
facilitator recipients reserve USER NETWORK ADDRESS
facilitator recipients release ID

From the next request on, on every replica, only client keys of USER (an id or an email) verify and
settle payments to a reserved address on its network. Claimed settlements continue. Accounts reserve
their own addresses with a signature: POST /api/v1/recipients.

  list       newest first, of all users
  reserve    NETWORK is the network's name; safe to repeat; refused if another user has the address
  release    ends a reservation; ID is that of the list

  --limit        at most this many (default 100)
  --json         {"recipients": [...]}
  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const DENIED_ADDRESSES_HELP = `facilitator denied-addresses list [--limit N] [--json]
facilitator denied-addresses add ADDRESS [--note TEXT]
facilitator denied-addresses remove ADDRESS

From the next request on, on every replica, payments from or to a denied address are refused as
invalid_payment, on every network. A claimed payment fails unless a transaction was signed for it.

  --note         for operators; callers never see it
  --limit        at most this many (default 100)
  --json         {"deniedAddresses": [...]}
  --help         prints this text
${DATABASE}

${EXIT_CODES}
`

export const SUSPENDED_HELP = `facilitator assets suspended [--json]

Lists the suspended assets, since when and why. To resume one, POST /admin/assets with
"active": true, which simulates its transfers first.

  --json         {"assets": [...]}
  --help         prints this text
${DATABASE}

${EXIT_CODES}
`
