import { developmentCosmosPayTo, developmentCosmosWallets } from '@tollgate/cosmos-devchain'
import { TxRaw, AuthInfo } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, startWorld, type World } from '../testing/world'
import { examplesOf } from './document'
import { compile } from './programs'
import { startReader } from './reader'
import { differences } from './shape'

const examples = examplesOf(readFileSync(join(root, 'docs/gasless.md'), 'utf8'))
const [question, program] = ['bash', 'ts'].map((language) =>
  examples.find((example) => example.language === language),
)

let folder: string
let world: World
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-gasless-'))
  world = await startWorld()
}, 120_000)
afterAll(async () => {
  await world.stop()
  rmSync(folder, { recursive: true, force: true })
}, 30_000)

test('docs/gasless.md runs as written: it finds the fee payer, and signs a payment that names it', async () => {
  expect(examples).toEqual([question, program])
  const compiled = compile([program!], folder)
  expect(compiled.errors).toEqual([])
  const reader = startReader(folder, {
    API: `${world.facilitator.url}/api/v1`,
    COSMOS_RPC: world.infrastructure.cosmos.rpcUrl,
    COSMOS_KEY: developmentCosmosWallets[0]!.privateKey,
    PAY_TO: developmentCosmosPayTo.address,
  })

  const answer = JSON.parse(await reader.shell(question!.text)) as { feePayer: string }
  expect(question!.answers.flatMap(({ value }) => differences(value, answer))).toEqual([])
  const signed = TxRaw.decode(Buffer.from(await reader.program(compiled.programOf(program!)), 'base64'))
  const { fee } = AuthInfo.decode(signed.authInfoBytes)
  expect([fee?.granter, fee?.payer]).toEqual(['', answer.feePayer])
  expect(signed.signatures).toHaveLength(1)
})
