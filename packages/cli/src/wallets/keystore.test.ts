import { encryptKeystoreJson, Wallet } from 'ethers'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecrets } from '../terminal'
import { decryptKeystore, readKeystore } from './keystore'

const folder = mkdtempSync(join(tmpdir(), 'keystore-'))
afterAll(() => rmSync(folder, { recursive: true }))

const WALLET = new Wallet(`0x${'42'.repeat(32)}`)
const CHEAP = { scrypt: { N: 1024 } }

test('a keystore that does not exist names the command that makes one', async () => {
  const file = join(folder, 'none.json')
  await expect(readKeystore(file)).rejects.toThrow(
    `The keystore ${file} cannot be read: there is no such file; make one with \`tollgate wallet new FILE\``,
  )
})

test.each([
  ['of geth, with a ligature', '\uFB01ne password', (password: string) => Buffer.from(password)],
  ['of geth, with wide letters', '\uFF41\uFF42\uFF43', (password: string) => Buffer.from(password)],
  ['of geth, with a combining accent', 'e\u0301te\u0301', (password: string) => Buffer.from(password)],
  ['of geth, in ASCII', 'plain', (password: string) => Buffer.from(password)],
  ['of ethers, with a ligature', '\uFB01ne password', (password: string) => password],
])('opens a keystore %s', async (_, password, spell) => {
  const file = join(folder, 'key.json')
  writeFileSync(file, await encryptKeystoreJson(WALLET, spell(password), CHEAP))
  const keystore = await readKeystore(file)
  expect(await decryptKeystore(keystore, password, createSecrets())).toEqual({
    kind: 'private-key',
    privateKey: WALLET.privateKey,
  })
  await expect(decryptKeystore(keystore, `${password}\uFB01`, createSecrets())).rejects.toThrow(
    'does not open the keystore',
  )
})
