import { randomBytes } from 'node:crypto'

/** As Standard Webhooks writes a symmetric secret. */
export const createSecret = () => `whsec_${randomBytes(32).toString('base64')}`
