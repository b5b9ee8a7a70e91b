/** NOTIFY channels: the payload is a network's name. */
export const CLAIMED_CHANNEL = 'settlement_claimed'
/** The payload is a settlement's id. */
export const FINAL_CHANNEL = 'settlement_final'
