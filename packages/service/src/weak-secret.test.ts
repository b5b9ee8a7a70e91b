import { createHash } from 'node:crypto'
import { isWeakPassword, isWeakSecret } from './weak-secret'

/** As random as `openssl rand`, and the same in each run. */
const bytes = (seed: number | string, length: number) =>
  createHash('sha256').update(`secret ${seed}`).digest().subarray(0, length)

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** Of a digest a byte of 248 or more is left out, so that each character is equally frequent. */
const alphanumeric = (seed: number, length: number) =>
  [...Buffer.concat([bytes(seed, 32), bytes(`${seed} more`, 32)])]
    .filter((byte) => byte < 248)
    .slice(0, length)
    .map((byte) => ALPHANUMERIC.charAt(byte % 62))
    .join('')

test.each<[string, (seed: number) => string]>([
  ['openssl rand -hex 32', (seed) => bytes(seed, 32).toString('hex')],
  ['openssl rand -hex 16', (seed) => bytes(seed, 16).toString('hex')],
  ['openssl rand -base64 32', (seed) => bytes(seed, 32).toString('base64')],
  ['openssl rand -base64 24', (seed) => bytes(seed, 24).toString('base64')],
  ['openssl rand -base64 32, for URLs', (seed) => bytes(seed, 32).toString('base64url')],
  ['32 letters and digits', (seed) => alphanumeric(seed, 32)],
])('never calls a random secret of %s weak', (_name, secretOf) => {
  const weak = Array.from({ length: 5_000 }, (_, seed) => secretOf(seed)).filter(isWeakSecret)
  expect(weak).toEqual([])
})

test.each<[string, (seed: number) => string]>([
  ['12 letters and digits', (seed) => alphanumeric(seed, 12)],
  ['openssl rand -hex 8', (seed) => bytes(seed, 8).toString('hex')],
])('never calls a random password of %s weak', (_name, passwordOf) => {
  const weak = Array.from({ length: 5_000 }, (_, seed) => passwordOf(seed)).filter(isWeakPassword)
  expect(weak).toEqual([])
})

test.each([
  '',
  'postgres',
  'tollgate',
  'admin',
  'secret',
  'Passw0rd!',
  'changeme123',
  'redis',
  'gateway-password',
  'mydatabasepassword',
])('calls the password %j weak', (password) => expect(isWeakPassword(password)).toBe(true))

test.each([
  'unhappy-gravel-turbine-silent-walrus-podium',
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
  'mysupersecretjwtsigningkey1234567890',
  'MySuperSecretJwtSigningKey1234567890',
  'thequickbrownfoxjumpsoverthelazydog',
  'thisisourcompanyssigningkeyforjwttokens2024',
  'correct horse battery staple orange lamp',
  'averylongsentencethatnobodywouldeverguess',
  'a1'.repeat(32),
  ' '.repeat(40),
  '',
])('calls %j weak', (secret) => expect(isWeakSecret(secret)).toBe(true))
