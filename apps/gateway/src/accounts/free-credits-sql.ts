import { FREE_PLAN_ID } from '@tollgate/protocol'
import { TODAY } from './ledger-sql'

/**
 * Locks the day, so that the statement after it in the same transaction reads what every other replica has given. `now()` is the start of
 * the transaction in both, so midnight cannot separate them.
 */
export const LOCK_DAY = `
INSERT INTO free_credit_days (day) VALUES (${TODAY}) ON CONFLICT (day) DO UPDATE SET given = free_credit_days.given`

const COUNT = (given: string) => `counted AS (
  UPDATE free_credit_days SET given = free_credit_days.given + ${given}.credits FROM ${given} WHERE day = ${TODAY}
)`

const ADD_TO_SHARE =
  'ON CONFLICT (day, address) DO UPDATE SET given = free_credit_shares.given + EXCLUDED.given'

/** The account of an address' share. No request can name it: it is no address of a wallet. */
export const walletOfShare = (id: string) => `address ${id}`

const BALANCE_OF_SHARE = `coalesce((SELECT balance FROM accounts
    WHERE wallet = 'address ' || share.id AND pricing_plan_id = ${FREE_PLAN_ID}), 0)`

/** `left`: of the day and of the address. `balance`: what the address has already. */
export type FreeLeft = { left: bigint; balance: bigint; isNew: boolean }

/** $1 address, $2 credits of an address in a day, or null for no limit, $3 of all in a day, $4 wallet or null. Locks nothing. */
export const READ_LEFT = `
SELECT greatest(0, least($3::bigint - coalesce(day.given, 0), $2::bigint - coalesce(share.given, 0))) AS left,
  ${BALANCE_OF_SHARE} AS balance, NOT EXISTS (SELECT FROM accounts WHERE wallet = $4) AS "isNew"
FROM (VALUES (${TODAY})) AS today (day) LEFT JOIN free_credit_days AS day USING (day)
  LEFT JOIN free_credit_shares AS share ON share.day = today.day AND share.address = $1`

/** No row for a wallet that has bought credits or was given some before. */
export type WalletGift = { credits: bigint }

/**
 * $1 wallet, $2 address, $3 credits of a wallet, $4 of an address in a day, or null for no limit, $5 of all in a day. A wallet gets fewer
 * if less is left, and so never more.
 */
export const GIVE_TO_WALLET = `
WITH due AS MATERIALIZED (
  SELECT greatest(0, least($5::bigint - given, $4::bigint - coalesce(
    (SELECT given FROM free_credit_shares WHERE day = ${TODAY} AND address = $2), 0))) AS left
  FROM free_credit_days WHERE day = ${TODAY}
), account AS (
  INSERT INTO accounts (wallet, pricing_plan_id, balance)
  SELECT $1::text, ${FREE_PLAN_ID}, least($3::bigint, due.left) FROM due
  WHERE due.left > 0 AND NOT EXISTS (SELECT FROM accounts WHERE wallet = $1)
  ON CONFLICT (wallet, pricing_plan_id) DO NOTHING
  RETURNING id, balance AS credits
), granted AS (
  INSERT INTO grants (account_id, credits) SELECT id, credits FROM account
), shared AS (
  INSERT INTO free_credit_shares (id, day, address, given) SELECT gen_random_uuid(), ${TODAY}, $2::bytea, credits FROM account
  ${ADD_TO_SHARE}
), ${COUNT('account')}
SELECT credits FROM account`

/** `id` of the share, null if too little is left for the call. */
export type AddressGift = { id: string | null; credits: bigint; left: bigint }

/**
 * $1 address, $2 cost of the call, $3 credits of an address in a day, $4 of all in a day. Gives what the call costs more than the address
 * has, which is what calls that were not served gave back to it.
 */
export const GIVE_TO_ADDRESS = `
WITH share AS MATERIALIZED (
  SELECT id, given, ${BALANCE_OF_SHARE} AS balance
  FROM free_credit_shares AS share WHERE day = ${TODAY} AND address = $1
), due AS MATERIALIZED (
  SELECT coalesce(share.id, gen_random_uuid()) AS id, coalesce(share.balance, 0) AS balance,
    greatest(0, $2::bigint - coalesce(share.balance, 0)) AS credits,
    greatest(0, least($4::bigint - day.given, $3::bigint - coalesce(share.given, 0))) AS left
  FROM free_credit_days AS day LEFT JOIN share ON true WHERE day.day = ${TODAY}
), gift AS MATERIALIZED (
  SELECT id, credits FROM due WHERE credits <= due.left
), shared AS (
  INSERT INTO free_credit_shares (id, day, address, given) SELECT id, ${TODAY}, $1::bytea, credits FROM gift
  ${ADD_TO_SHARE}
), ${COUNT('gift')}, account AS (
  INSERT INTO accounts (wallet, pricing_plan_id, balance)
  SELECT 'address ' || id, ${FREE_PLAN_ID}, credits FROM gift
  ON CONFLICT (wallet, pricing_plan_id) DO UPDATE SET balance = accounts.balance + EXCLUDED.balance
  RETURNING id
), granted AS (
  INSERT INTO grants (account_id, credits) SELECT account.id, gift.credits FROM account, gift WHERE gift.credits > 0
)
SELECT gift.id, coalesce(gift.credits, 0) AS credits, due.left - coalesce(gift.credits, 0) AS left
FROM due LEFT JOIN gift ON true`
