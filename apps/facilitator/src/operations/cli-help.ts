const EXIT_CODES = 'Exit codes: 0 done, 1 refused or failed, 2 not understood, 78 DATABASE_URL is not set.'

export const HELP = `The facilitator, from the command line. (It is served by: node dist/main.js)

  facilitator settlements list [OPTIONS]     what is open, or was reversed for good
  facilitator settlements show ID [--json]   all of one settlement, and what to expect of it
  facilitator settlements retry ID...        has open ones tried again at once

${EXIT_CODES} More: facilitator settlements VERB --help
`

const DATABASE = `  DATABASE_URL   the facilitator's Postgres, from the environment; nothing else is needed`

const LIST_HELP = `facilitator settlements list [--network NAME] [--state STATE] [--older-than SECONDS]
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

const SHOW_HELP = `facilitator settlements show ID [--json]

Shows all of one settlement, its transaction and every version that was signed of it, what
was paid for each that was mined, be it in vain, its client, and what to expect next. It
never shows what the payer signed, nor a token.

  --json         the same as JSON
  --help         this text
${DATABASE}

${EXIT_CODES}
`

const RETRY_HELP = `facilitator settlements retry ID...

Has open settlements tried again at once, and says for each what is done:

  claimed               is looked at now, and sent if it would go through, even where so much
                        was sent in vain for its payer that it would not be by itself; a
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

export const VERB_HELP = { list: LIST_HELP, show: SHOW_HELP, retry: RETRY_HELP }
