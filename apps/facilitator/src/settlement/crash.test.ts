import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { type SettleResult } from '@tollgate/protocol'
import { closeAll, migratedDatabase } from '@tollgate/testing'
import { newPayer, newSigner, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { type CrashOrder, type Step } from '../testing/crashing'
import { testFacilitator, type ClientHeaders } from '../testing/facilitator'
import { AMOUNT, paymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
const testing = join(__dirname, '../testing')

afterAll(closeAll)

/** Runs a facilitator until it is killed, and resolves to the client key with which it was asked. */
function settleAndCrash(order: CrashOrder): Promise<ClientHeaders> {
  const program = ['--require', join(testing, 'typescript.cjs'), join(testing, 'crashing.ts')]
  const env = { ...process.env, CRASH_ORDER: JSON.stringify(order) }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, program, { env }, (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve(JSON.parse(stdout) as ClientHeaders)
      else reject(new Error(`the process was not killed: ${stderr}`))
    })
  })
}

describe('a facilitator killed while it settles', () => {
  test.each<[Step, string]>([
    ['signed', 'before the transaction is stored'],
    ['stored', 'between storing the transaction and sending it'],
    ['sent', 'between sending the transaction and its receipt'],
  ])('%s: %s, it settles with one transaction after the restart, and reports to its client', async (step) => {
    const [signer, payer, databaseUrl] = await Promise.all([
      newSigner(rpcUrl),
      newPayer(rpcUrl),
      migratedDatabase('facilitator'),
    ])
    const body = await paymentRequest(payer)
    const signerKey = signer.privateKey
    const client = await settleAndCrash({ step, rpcUrl, signerKey, databaseUrl, body })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(step === 'sent' ? 1 : 0)

    const { api, database } = await testFacilitator({ signerKeys: [signerKey], databaseUrl })
    const answer = await api.post('/api/v1/settle').set(client).send(body).expect(200)
    const result = answer.body as SettleResult

    expect(result).toMatchObject({ success: true, payer: payer.address })
    const transfers = await transfersFrom(rpcUrl, payer.address)
    expect(transfers.map(({ value, transaction }) => [value, transaction])).toEqual([
      [AMOUNT, result.transaction],
    ])
    expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
    const { rows } = await database.pool.query('SELECT hash, nonce FROM transactions')
    expect(rows).toEqual([{ hash: result.transaction, nonce: 0n }])
  })
})
