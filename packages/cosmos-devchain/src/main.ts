import { parseArgs } from 'node:util'
import { startNode } from './node/node'

/** With `--block-seconds`, blocks are created at this interval only. */
async function main() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      folder: { type: 'string', default: '.' },
      'chain-id': { type: 'string', default: 'tollgate-devnet-1' },
      instance: { type: 'string', default: '' },
      'block-seconds': { type: 'string' },
    },
  })
  const seconds = values['block-seconds']
  const node = await startNode({
    chainId: values['chain-id'],
    folder: values.folder,
    port: Number(values.port),
    instance: values.instance,
    blockSeconds: seconds === undefined ? undefined : Number(seconds),
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      void node.stop().finally(() => process.exit(0))
    })
  say(
    'FOR DEVELOPMENT ONLY: a pretend chain of one process. Its coins are worth nothing and its keys are public.',
  )
  say(`${values['chain-id']} at ${node.rpcUrl}, height ${node.chain.latest().header.height}`)
}

const say = (line: string) => process.stdout.write(`${line}\n`)

main().catch((problem: unknown) => {
  say(String(problem))
  process.exit(1)
})
