import { z } from 'zod'

/** The facilitator's account messages: users, client keys. */
export const Credentials = z.object({
  email: z.email().max(254),
  password: z.string().min(8, 'must have at least 8 characters').max(256),
})
export type Credentials = z.infer<typeof Credentials>

export const User = z.object({
  id: z.int(),
  email: z.string(),
  isAdmin: z.boolean(),
  createdAt: z.iso.datetime(),
})
export type User = z.infer<typeof User>

export const operations = ['verify', 'settle', 'supported'] as const
export type Operation = (typeof operations)[number]

/** Comma-separated operations; left out or empty, a key may do all of them. */
export const Scope = z
  .string()
  .max(128)
  .transform((text) => (text.trim() === '' ? [] : text.split(',').map((word) => word.trim())))
  .transform((words) => [...new Set(words)])
  .pipe(z.array(z.enum(operations)))

export const CreateClientRequest = z.object({
  title: z.string().trim().min(1).max(200),
  scope: Scope.optional(),
  /** Hours; at most ten years. */
  ttl_hours: z.number().positive().max(87_600).optional(),
})
export type CreateClientRequest = z.infer<typeof CreateClientRequest>

/** `token` is there at creation and never again. */
export const ClientKey = z.object({
  clientId: z.string(),
  token: z.string().optional(),
  title: z.string(),
  scope: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
})
export type ClientKey = z.infer<typeof ClientKey>
