import { createHash } from 'node:crypto'
import { isWeakSecret } from './weak-secret'

/** As random as `openssl rand`, and the same in each run. */
const bytes = (seed: number, length: number) =>
  createHash('sha256').update(`secret ${seed}`).digest().subarray(0, length)

test.each<[string, (seed: number) => string]>([
  ['-hex 32', (seed) => bytes(seed, 32).toString('hex')],
  ['-hex 16', (seed) => bytes(seed, 16).toString('hex')],
  ['-base64 32', (seed) => bytes(seed, 32).toString('base64')],
  ['-base64 24', (seed) => bytes(seed, 24).toString('base64')],
  ['-base64 32, for URLs', (seed) => bytes(seed, 32).toString('base64url')],
])('never calls a secret of openssl rand %s weak', (_name, secretOf) => {
  const weak = Array.from({ length: 10_000 }, (_, seed) => secretOf(seed)).filter(isWeakSecret)
  expect(weak).toEqual([])
})

test.each([
  'correct horse battery staple orange lamp',
  'mYw9-kePq-73Lz-vTuN-x0cB-qRd2-55Hj',
  '5f0c2c1e-8a59-4c07-9ad7-3f1c0be0f4d9',
])('does not call %s weak', (secret) => expect(isWeakSecret(secret)).toBe(false))

test.each([
  'a'.repeat(32),
  'a'.repeat(500),
  'ab'.repeat(32),
  'abc123'.repeat(10),
  '01'.repeat(32),
  '0123456789abcdef0123456789abcdef',
  '0123456789abcdef'.repeat(4),
  'abcdefghijklmnopqrstuvwxyz0123456789',
  'zyxwvutsrqponmlkjihgfedcba9876543210',
  '12345678901234567890123456789012',
  'changeme'.repeat(4),
  'changeme-changeme-changeme-changeme',
  'change-me-change-me-change-me-change-me',
  'CHANGE_ME_PLEASE_CHANGE_ME_PLEASE_123',
  'passwordpasswordpasswordpassword',
  'this-is-a-very-long-secret-for-jwt-tokens',
  'this-is-my-jwt-secret-key-please-change',
  'your-secret-key-at-least-32-characters!!',
  `${'changeme'.repeat(100)}x`,
  'supersecretsupersecretsupersecret1',
  'qwertyuiopasdfghjklzxcvbnm1234567890',
  'deadbeef'.repeat(8),
  'a1'.repeat(32),
  ' '.repeat(40),
  '',
])('calls %j weak', (secret) => expect(isWeakSecret(secret)).toBe(true))
