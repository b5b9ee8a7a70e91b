import { isTollgateError } from '@tollgate/wallet'
import { type Command } from 'commander'
import { CommandError, EXIT } from './exit-codes'
import { explainFacilitatorUrl, explainUrl } from './find-wrong-url'
import { openClient, type ClientOptions, type DecidePayment, type OpenClient } from './open-client'
import { createOutput, type Output } from './output/output'
import { withFunding } from './with-funding'
import { once } from './once'
import { findOpenPayments } from './stored-payments'
import { type Secrets, type Terminal } from './terminal'
import { assertNoKeys } from './wallets/key-texts'
import { openWallet, type OpenWallet } from './wallets/open-wallet'

export type Context<Options = unknown, Words = readonly unknown[]> = {
  options: ClientOptions & Options
  /** The command's arguments. */
  words: Words
  terminal: Terminal
  output: Output
  secrets: Secrets
  /** Opens the wallet, once. */
  openWallet(): Promise<OpenWallet>
  /** Opens the client of the wallet, which is closed when the command ends. */
  open(decide?: DecidePayment): Promise<OpenClient>
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
  /** Ctrl-C ends the command as done. */
  endsWithCtrlC(): void
}

/** Makes a command's action. A handler may return an exit code. */
export type Run = <Options = unknown, Words = readonly unknown[]>(
  handler: (context: Context<Options, Words>) => Promise<unknown>,
) => (...parameters: unknown[]) => Promise<void>

const stoppedWhilePaying = () =>
  new CommandError(
    'PAYMENT_PENDING',
    'Stopped during a payment',
    'It stays stored: the next command that buys within its limits sends the same one, never a second one.',
    EXIT.PAYMENT_OPEN,
  )

export function createRun(parts: {
  terminal: Terminal
  secrets: Secrets
  end: (exitCode: number) => void
}): Run {
  const { terminal, secrets, end } = parts
  return (handler) =>
    async (...all) => {
      const command = all.at(-1) as Command
      const options = command.optsWithGlobals<ClientOptions & { facilitator?: string }>()
      const output = outputOf(options, terminal, secrets)
      const stopping = new AbortController()
      const clients: OpenClient[] = []
      const paying = new Set<OpenClient>()
      let interruptedCode: number | undefined

      const openOnce = once(() => openWallet(options, { terminal, output, secrets }))
      const open = async (decide?: DecidePayment) => {
        const parts = { terminal, output, secrets, openWallet: openOnce }
        const client = await openClient(options, parts, decide)
        clients.push(client)
        for (const event of ['payment-required', 'pending'] as const)
          client.tollgate.on(event, () => paying.add(client))
        client.tollgate.on('paid', () => paying.delete(client))
        return client
      }
      const context = {
        ...{ words: command.processedArgs, terminal, output, secrets, open, signal: stopping.signal },
        ...{ options, openWallet: openOnce },
        endsWithCtrlC: () => (interruptedCode = EXIT.OK),
      }
      const stopped = new Promise<number>((resolve) => {
        stopping.signal.addEventListener('abort', () => resolve(stopping.signal.reason as number))
      })
      const release = terminal.onStop((exitCode) => stopping.abort(exitCode))
      const finish = async () => {
        // Not the params of a call, within their list: hashes look like keys.
        assertNoKeys(command.processedArgs)
        const exitCode = await (handler as (context: Context) => Promise<unknown>)(context)
        await output.written()
        return typeof exitCode === 'number' ? exitCode : EXIT.OK
      }
      const work = finish().catch((error: unknown) =>
        stopping.signal.aborted || isAbort(error)
          ? EXIT.INTERRUPTED
          : explainUrl(error, options.url)
              .then((explained) => explainFacilitatorUrl(explained, options.facilitator))
              .then((explained) => withFunding(explained, clients))
              .then(output.fail),
      )
      const ended = await Promise.race([work, stopped])
      release()
      for (const { tollgate } of clients) tollgate.close()
      if (!stopping.signal.aborted) end(ended)
      else if (await hasOpenPayment([...paying])) {
        // After the ^C of the terminal.
        if (terminal.stderr.isTTY) terminal.stderr.write('\n')
        end(output.fail(stoppedWhilePaying()))
      } else end(interruptedCode ?? ended)
    }
}

const isAbort = (error: unknown) => isTollgateError(error) && error.code === 'ABORTED'

async function hasOpenPayment(clients: readonly OpenClient[]): Promise<boolean> {
  const open = await Promise.all(
    clients.map(({ storage, wallet }) => findOpenPayments(storage, wallet.address)),
  )
  return open.flat().length > 0
}

export const outputOf = (
  { json = false, color = true }: ClientOptions,
  terminal: Terminal,
  secrets: Secrets,
): Output => createOutput(terminal, { isJson: json, isColored: color, secrets })
