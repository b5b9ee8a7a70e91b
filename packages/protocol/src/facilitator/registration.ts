import { z } from 'zod'
import { count } from '../query'
import { exampleAddress, exampleTime, MAX_ID, page, plainText } from './fields'

const email = z.email().max(254).toLowerCase()
const deleted = (value: z.ZodType, example: unknown) =>
  z.object({ data: z.object({ deleted: value }) }).meta({ examples: [{ data: { deleted: example } }] })

const MIN_TTL_HOURS = 1 / 3_600
const MAX_TTL_HOURS = 87_600

export const CreateInvitationRequest = z
  .object({
    email: email.optional().describe('The only email that may use it; omitted: any.'),
    ttl_hours: z
      .number()
      .min(MIN_TTL_HOURS, 'must be at least one second, 1/3600 of an hour')
      .max(MAX_TTL_HOURS)
      .optional()
      .describe('Hours until it expires, at least one second; omitted: never.'),
  })
  .meta({ id: 'CreateInvitationRequest', examples: [{ email: 'shop@example.com', ttl_hours: 168 }] })

const invitationFields = {
  id: z.int(),
  email: z.string().nullable().describe('The only email that may use it; null: any.'),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable().describe('Null if it never expires.'),
  usedAt: z.iso.datetime().nullable().describe('When a user signed up with it.'),
}
const exampleInvitation = {
  id: 3,
  email: 'shop@example.com',
  createdAt: exampleTime,
  expiresAt: '2026-01-22T12:00:00.000Z',
  usedAt: null,
}
export const Invitation = z.object(invitationFields).meta({ id: 'Invitation', examples: [exampleInvitation] })
export type Invitation = z.infer<typeof Invitation>

export const InvitationCreated = z
  .object({
    data: z.object({
      ...invitationFields,
      invitation: z.string().describe('Sent as `invitation` with `POST /signup`. Only in this response.'),
    }),
  })
  .meta({
    examples: [
      { data: { ...exampleInvitation, invitation: 'b25lLXRpbWUgY29kZSBvZiAyNTYgcmFuZG9tIGJpdHMuLi4' } },
    ],
  })
export type InvitationCreated = z.infer<typeof InvitationCreated>
export const InvitationsQuery = z.object(page(100, 100))
export const InvitationList = z
  .object({ data: z.array(Invitation) })
  .meta({ examples: [{ data: [exampleInvitation] }] })
export const InvitationPath = z.object({ id: count(1, MAX_ID).meta({ examples: [3] }) })
export const InvitationDeleted = deleted(z.int(), 3)

const network = z.string().min(1).max(128).describe('Its name, chain id or CAIP-2 id.')
const address = plainText(256).min(1)

export const RecipientChallengeRequest = z.object({ network, address }).meta({
  id: 'RecipientChallengeRequest',
  examples: [{ network: 'base-sepolia', address: exampleAddress }],
})

const exampleNonce = 'c2l4dGVlbiByYW5kb20gYnl0ZXMgYW5kIHNpeHRlZW4'
export const RecipientChallenge = z
  .object({
    data: z.object({
      nonce: z.string().describe('Sent with the signature to `POST /recipients`. Single use.'),
      message: z
        .string()
        .describe('The text to sign: by personal_sign (EIP-191) on EVM networks, by ADR-036 on Cosmos.'),
      expiresAt: z.iso.datetime(),
    }),
  })
  .meta({
    examples: [
      {
        data: {
          nonce: exampleNonce,
          message: 'https://facilitator.example asks you to reserve your address for one account.',
          expiresAt: '2026-01-15T12:05:00.000Z',
        },
      },
    ],
  })

export type RecipientChallenge = z.infer<typeof RecipientChallenge>

export const ReserveRecipientRequest = z
  .object({
    nonce: z.string().min(1).max(128).describe('Of `POST /recipients/challenge`.'),
    signature: z
      .string()
      .min(1)
      .max(16_384)
      .describe('Of the message: hex on EVM networks (of a key, or as EIP-1271 has it), base64 on Cosmos.'),
    pubkey: z.string().max(128).optional().describe('On Cosmos: the public key of the address, in base64.'),
  })
  .meta({
    id: 'ReserveRecipientRequest',
    examples: [{ nonce: exampleNonce, signature: `0x${'5f'.repeat(64)}1b` }],
  })

const exampleRecipient = {
  id: 4,
  userId: 2,
  network: 'base-sepolia',
  address: exampleAddress,
  proof: 'signature',
  createdAt: exampleTime,
} as const
export const Recipient = z
  .object({
    id: z.int(),
    userId: z.int().describe('Only client keys of this user settle payments to the address.'),
    network: z.string().describe('The network’s name.'),
    address: z.string(),
    proof: z.enum(['signature', 'operator']).describe('What it was reserved with.'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Recipient', examples: [exampleRecipient] })
export type Recipient = z.infer<typeof Recipient>

export const RecipientReserved = z
  .object({ data: Recipient })
  .meta({ examples: [{ data: exampleRecipient }] })
export const RecipientsQuery = z.object(page(100, 100))
export const RecipientList = z
  .object({ data: z.array(Recipient) })
  .meta({ examples: [{ data: [exampleRecipient] }] })
export const RecipientPath = z.object({ id: count(1, MAX_ID).meta({ examples: [4] }) })
export const RecipientDeleted = deleted(z.int(), 4)

export const AssignRecipientRequest = z
  .object({ email: email.describe('Of the account.'), network, address })
  .meta({
    id: 'AssignRecipientRequest',
    examples: [{ email: 'shop@example.com', network: 'base-sepolia', address: exampleAddress }],
  })

export const DenyAddressRequest = z
  .object({
    address: address.describe('Of a payer or a recipient, on any network.'),
    note: plainText(500).optional().describe('For operators; never in a refusal.'),
  })
  .meta({ id: 'DenyAddressRequest', examples: [{ address: exampleAddress, note: 'Court order 17' }] })

const exampleDenied = { address: exampleAddress, note: 'Court order 17', createdAt: exampleTime }
export const DeniedAddress = z
  .object({
    address: z.string().describe('In its canonical spelling.'),
    note: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'DeniedAddress', examples: [exampleDenied] })
export type DeniedAddress = z.infer<typeof DeniedAddress>

export const AddressDenied = z.object({ data: DeniedAddress }).meta({ examples: [{ data: exampleDenied }] })
export const DeniedAddressesQuery = z.object(page(100, 100))
export const DeniedAddressList = z
  .object({ data: z.array(DeniedAddress) })
  .meta({ examples: [{ data: [exampleDenied] }] })
export const DeniedAddressPath = z.object({
  address: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'In any spelling.', examples: [exampleAddress] }),
})
export const DeniedAddressDeleted = deleted(z.string(), exampleAddress)
