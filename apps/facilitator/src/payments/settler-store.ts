import { type Outcome, type SignedTransaction, type Terms } from '@tollgate/chains'
import { type Pool, type PoolClient } from '@tollgate/database'
import { type ReasonCode } from '@tollgate/protocol'
import { FINAL_CHANNEL } from './store'

/** A claimed payment as it is stored: `payload` is what the payer signed, still to be read by its family. */
export type Claim = { id: bigint; clientId: string; payload: unknown; terms: Terms }

/** A settlement whose transaction is signed and stored, and may or may not have been sent. */
export type Signed = Claim & { transactionId: bigint; transaction: SignedTransaction }

type Signing = {
  claim: Claim
  network: string
  signer: string
  nonce: bigint
  transaction: SignedTransaction
}

/** How a settlement ends. `hash` is that of the transfer, which need not be ours. */
export type Conclusion =
  | Pick<Extract<Outcome, { status: 'settled' }>, 'status' | 'hash' | 'blockNumber'>
  | { status: 'failed'; reason: ReasonCode }

export type SettlerStore = ReturnType<typeof createSettlerStore>

export type Session = Pick<Pool | PoolClient, 'query'>

type ClaimRow = {
  id: bigint
  clientId: string
  payload: string
  asset: string
  payTo: string
  amount: string
  symbol: string
  decimals: number
  name: string | null
  version: string | null
}
type SignedRow = ClaimRow & { transactionId: bigint; raw: string; hash: string }

const claimColumns = `s.id, s.client_id as "clientId", s.payload, s.asset, s.pay_to as "payTo", s.amount,
  a.symbol, a.decimals, a.name, a.version`

/** Settlements as the settler carries them out. What is done on a `session` is part of the transaction open there. */
export function createSettlerStore(pool: Pool) {
  return {
    /** Up to `limit` claimed payments, locked until the transaction ends; those that another signer has locked are left to it. */
    async lockClaimed(
      session: Session,
      network: string,
      limit: number,
      except: readonly bigint[],
    ): Promise<Claim[]> {
      const { rows } = await session.query<ClaimRow>(
        `select ${claimColumns}
         from settlements s join assets a on a.network = s.network and a.asset = s.asset
         where s.network = $1 and s.status = 'claimed' and s.id <> all($3)
         order by s.id limit $2 for update of s skip locked`,
        [network, limit, except],
      )
      return rows.map(toClaim)
    },

    /** One more than the highest nonce that we signed for this signer; 0 where we never did. */
    async nextNonce(session: Session, network: string, signer: string): Promise<bigint> {
      const { rows } = await session.query<{ nonce: bigint }>(
        'select coalesce(max(nonce) + 1, 0) as nonce from transactions where network = $1 and signer = $2',
        [network, signer],
      )
      return rows[0]?.nonce ?? 0n
    },

    /** What we signed for this signer from this nonce on, the first hundred. */
    async from(
      session: Session,
      network: string,
      signer: string,
      nonce: bigint,
    ): Promise<SignedTransaction[]> {
      const { rows } = await session.query<SignedTransaction>(
        `select raw, hash from transactions where network = $1 and signer = $2 and nonce >= $3 order by nonce limit 100`,
        [network, signer, nonce],
      )
      return rows
    },

    /** Stores the transaction of a claim before it is sent. One signer's nonce is stored once. */
    async storeSigned(session: Session, signed: Signing): Promise<void> {
      const { claim, network, signer, nonce, transaction } = signed
      await session.query(
        `with stored as (
           insert into transactions (network, signer, nonce, raw, hash) values ($2, $3, $4, $5, $6) returning id
         )
         update settlements
         set status = 'signed', transaction_id = (select id from stored), transaction_hash = $6, updated_at = now()
         where id = $1`,
        [claim.id, network, signer, nonce, transaction.raw, transaction.hash],
      )
    },

    /** Up to `limit` settlements of this signer that are signed and not over, in the order of their nonces. */
    async unfinished(network: string, signer: string, limit: number): Promise<Signed[]> {
      const { rows } = await pool.query<SignedRow>(
        `select ${claimColumns}, t.id as "transactionId", t.raw, t.hash
         from settlements s join transactions t on t.id = s.transaction_id
           join assets a on a.network = s.network and a.asset = s.asset
         where s.network = $1 and s.status = 'signed' and t.signer = $2
         order by t.nonce limit $3`,
        [network, signer, limit],
      )
      return rows.map((row) => {
        const { transactionId, raw, hash } = row
        return { ...toClaim(row), transactionId, transaction: { raw, hash } }
      })
    },

    async noteBroadcast(hash: string): Promise<void> {
      await pool.query(
        'update transactions set broadcast_at = coalesce(broadcast_at, now()) where hash = $1',
        [hash],
      )
    },

    async noteMined(id: bigint, { blockNumber, fee }: { blockNumber: bigint; fee: bigint }): Promise<void> {
      await pool.query(
        `update transactions set status = 'mined', block_number = $2, fee = $3 where id = $1`,
        [id, blockNumber, fee],
      )
    },

    /** Ends a settlement, once, and tells those who wait for it. */
    async conclude(session: Session, id: bigint, conclusion: Conclusion): Promise<void> {
      const [hash, blockNumber, reason] =
        conclusion.status === 'settled'
          ? [conclusion.hash, conclusion.blockNumber, null]
          : [null, null, conclusion.reason]
      await session.query(
        `update settlements
         set status = $2, transaction_hash = coalesce($3, transaction_hash), block_number = $4, error_reason = $5,
           settled_at = case when $2 = 'settled' then now() end, updated_at = now()
         where id = $1 and status in ('claimed', 'signed')
         returning pg_notify('${FINAL_CHANNEL}', id::text)`,
        [id, conclusion.status, hash, blockNumber, reason],
      )
    },
  }
}

function toClaim(row: ClaimRow): Claim {
  const { id, clientId, payload, asset, symbol, decimals, name, version, payTo, amount } = row
  const token = {
    asset,
    symbol,
    decimals,
    ...(name === null ? {} : { name }),
    ...(version === null ? {} : { version }),
  }
  return { id, clientId, payload: JSON.parse(payload), terms: { token, payTo, amount: BigInt(amount) } }
}
