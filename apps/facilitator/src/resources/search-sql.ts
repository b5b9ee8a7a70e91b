import { MAX_SEARCHED } from '@tollgate/protocol'
import {
  ACTIVE,
  answerOf,
  cataloged,
  isCut,
  isProven,
  isShownOnce,
  noneOfAll,
  registered,
} from './discovery-sql'

/** Matches of each source that are shared out among their owners, and of owners with a proven origin besides. */
const MAX_MATCHED = 20_000
const MAX_PROVEN = 5_000
/** Results of an owner that is known, by a proven origin or a settled payment, before those of owners that are not. */
const LEAD = 3
/** Keys and settlements that are looked at to learn whether an owner settled a payment. */
const MAX_KEYS = 20
const MAX_SETTLEMENTS = 20

const WORDS = {
  resources: "discovery_words(resource, metadata, '')",
  cataloged_resources:
    "discovery_words(resource, details, operation || ' ' || coalesce(declared #>> '{info,input,description}', ''))",
}

const ALL_WORDS = "plainto_tsquery('english'::regconfig, $10)"
/** The text of a query has its words in quotes. */
const ANY_WORD = `replace(${ALL_WORDS}::text, '&', '|')::tsquery`

const matched = (table: keyof typeof WORDS, query: string, isMatch: string) => `
  (SELECT id, user_id, resource FROM ${table} WHERE ${WORDS[table]} @@ ${query} AND ${isMatch}
     AND user_id IN (SELECT proof.user_id FROM resource_origins AS proof WHERE ${isProven('proof')}) LIMIT ${MAX_PROVEN})
  UNION
  (SELECT id, user_id, resource FROM ${table} WHERE ${WORDS[table]} @@ ${query} AND ${isMatch} LIMIT ${MAX_MATCHED})`

const HAS_SETTLED = `EXISTS (
    SELECT FROM (SELECT client_id FROM clients WHERE clients.user_id = found.user_id ORDER BY created_at LIMIT ${MAX_KEYS}) AS key
      CROSS JOIN LATERAL (
        SELECT status FROM settlements WHERE settlements.client_id = key.client_id
        ORDER BY coalesce(first_claimed_at, created_at) DESC, id DESC LIMIT ${MAX_SETTLEMENTS}) AS newest
    WHERE newest.status = 'settled')`

const IS_PROVEN = `EXISTS (
    SELECT FROM resource_origins AS proof WHERE proof.user_id = matches.user_id AND ${isProven('proof')}
      AND (matches.resource = proof.origin OR starts_with(matches.resource, proof.origin || '/')))`

/** 0 is the highest. */
const standing = (isProven: string, hasSettled: string) =>
  `CASE WHEN ${isProven} THEN 0 WHEN ${hasSettled} THEN 1 ELSE 2 END`

/** Owners take turns, so that many registrations of one push out no other; those that are known come first. */
const SHARED = `standing < 2 AND turn <= ${LEAD} DESC, turn, standing`

/** The matches that are ranked: at most MAX_SEARCHED. */
const shared = (matches: string) => `
  SELECT id, user_id, standing FROM (
    SELECT *, row_number() OVER (PARTITION BY user_id, standing ORDER BY id) AS turn
    FROM (
      SELECT id, matches.user_id, ${standing(IS_PROVEN, 'owners.has_settled')} AS standing
      FROM ${matches} AS matches JOIN owners USING (user_id)) AS each) AS taking_turns
  ORDER BY ${SHARED}, id LIMIT ${MAX_SEARCHED}`

/**
 * Ranks at most MAX_SEARCHED matches of each source, so that a common word costs no more than a rare one. What is shown already is
 * left out after that: to look it up for every match would be slow.
 */
const searched = (query: string) => `
WITH ${ACTIVE}, matched_registered AS MATERIALIZED (${matched('resources', query, registered(noneOfAll))}
), matched_cataloged AS MATERIALIZED (${matched('cataloged_resources', query, cataloged(noneOfAll))}
), owners AS MATERIALIZED (
  SELECT user_id, ${HAS_SETTLED} AS has_settled
  FROM (SELECT user_id FROM matched_registered UNION SELECT user_id FROM matched_cataloged) AS found
), registered AS MATERIALIZED (
  SELECT id, resources.user_id, standing, ${WORDS.resources} AS words FROM (${shared('matched_registered')}) AS one
    JOIN resources USING (id)
), cataloged AS MATERIALIZED (
  SELECT id, cataloged_resources.user_id, standing, resource, ${WORDS.cataloged_resources} AS words
  FROM (${shared('matched_cataloged')}) AS one JOIN cataloged_resources USING (id)
), matched AS MATERIALIZED (
  SELECT 'registered' AS source, id, user_id, standing, ts_rank(words, ${query}) AS fit FROM registered
  UNION ALL
  SELECT 'cataloged', id, user_id, standing, ts_rank(words, ${query}) FROM cataloged AS cataloged_resources
  WHERE ${isShownOnce(noneOfAll, `${WORDS.resources} @@ ${query}`)}
), ranked AS (
  SELECT row_number() OVER (ORDER BY ${SHARED}, fit DESC, source DESC, id) AS place, source, id
  FROM (
    SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY fit DESC, source DESC, id) AS turn FROM matched) AS each
), page AS (
  SELECT place, source, id FROM ranked ORDER BY place LIMIT $8 OFFSET $9
), ${answerOf(`SELECT count(*)::int AS total, ${isCut(MAX_SEARCHED)} FROM matched`)}`

/** $10 the words. */
export const SEARCHED_ALL = searched(ALL_WORDS)
export const SEARCHED_ANY = searched(ANY_WORD)
