import { type Refusal } from '@tollgate/chains'

/** Whether an operator denies the payer or the recipient, by these SQL expressions. */
export const isDeniedSql = (payer: string, payTo: string) =>
  `EXISTS (SELECT FROM denied_addresses WHERE address IN (${payer}, ${payTo}))`

/** Names neither the address nor the list. */
export const DENIED: Refusal = { reason: 'invalid_payment', detail: 'the payment is not accepted' }
