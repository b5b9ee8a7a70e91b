import { NewWalletWebhook, WalletWebhookChange } from '@tollgate/protocol'
import { parse } from '@tollgate/service'
import { showEndpoint, type WebhookWire } from '@tollgate/webhooks'
import { type Session, type Sessions } from '../auth/sessions'

/** Events belong to an account: each session of a wallet, or of a contract on one chain, sees and changes the same endpoints. */
export const createWire = ({ findOwner }: Pick<Sessions, 'findOwner'>): WebhookWire<Session> => ({
  authorize: findOwner,
  readNew(body) {
    const { balance_below: threshold, ...wanted } = parse(NewWalletWebhook, body)
    return { ...wanted, threshold }
  },
  readChange(body) {
    const { balance_below: threshold, ...change } = parse(WalletWebhookChange, body)
    return { ...change, threshold }
  },
  showEndpoint: (endpoint) => ({
    ...showEndpoint(endpoint),
    balanceBelow: endpoint.threshold === null ? null : Number(endpoint.threshold),
  }),
  showPage: (data, next) => ({ data, next }),
  answer: (members) => snakeCased(Array.isArray(members) ? { data: members as unknown[] } : members),
})

/** Payloads have their names already. */
function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      name === 'payload' ? (member as unknown) : snakeCased(member),
    ]),
  )
}
