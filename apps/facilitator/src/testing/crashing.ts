import { type RemoteSignerSettings } from '@tollgate/chains'
import { faulty } from './faulty'
import { newClient, testFacilitator, type ClientHeaders } from './facilitator'
import { type PaymentRequest } from './payment'

export type Step = 'signed' | 'stored' | 'sent'

export type CrashOrder = {
  step: Step
  rpcUrl: string
  /** Or a remote signer. */
  signerKey?: string
  remoteSigners?: RemoteSignerSettings
  databaseUrl: string
  body: PaymentRequest
  /** Default SIGKILL. A stopped process continues at SIGCONT and prints its response. */
  signal?: 'SIGKILL' | 'SIGSTOP'
}

async function main() {
  const order = JSON.parse(process.env.CRASH_ORDER ?? '') as CrashOrder
  const { api } = await testFacilitator({
    rpcUrl: order.rpcUrl,
    signerKeys: order.signerKey === undefined ? [] : [order.signerKey],
    ...(order.remoteSigners && { remoteSigners: order.remoteSigners }),
    databaseUrl: order.databaseUrl,
    families: dyingAt(order),
  })
  const client: ClientHeaders = await newClient(api)
  process.stdout.write(`${JSON.stringify(client)}\n`)
  const answer = await api.post('/api/v1/settle').set(client).send(order.body)
  if (order.signal !== 'SIGSTOP') throw new Error('the process outlived its crash')
  process.stdout.write(`${JSON.stringify(answer.body)}\n`, () => process.exit(0))
}

const dyingAt = ({ step, signal = 'SIGKILL' }: CrashOrder) =>
  faulty((chain) => {
    let isOver = false
    const die = () => {
      if (isOver) return
      isOver = true
      process.kill(process.pid, signal)
    }
    return {
      signer: {
        async sign(transaction) {
          const signed = await chain.signer.sign(transaction)
          if (step === 'signed') die()
          return signed
        },
      },
      node: {
        async broadcast(transaction) {
          if (step === 'stored') die()
          await chain.node.broadcast(transaction)
          if (step === 'sent') die()
        },
      },
    }
  })

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exit(1)
})
