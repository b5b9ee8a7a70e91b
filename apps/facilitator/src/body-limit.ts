/** Of every body that the facilitator takes. */
export const BODY_LIMIT_BYTES = 262_144
