export const BODY_LIMIT_BYTES = 262_144
