import { type UsageOutcome } from '@tollgate/protocol'
import { buyer } from '../texts'
import { type Tone } from '../ui/status-badge'

/** The compiler asks for an entry for each word of the gateway. */
const tones: Record<UsageOutcome, Tone> = {
  reserved: 'waiting',
  answered: 'good',
  done: 'good',
  cut_off: 'bad',
  caller_left: 'neutral',
  upstream_timeout: 'bad',
  upstream_refused: 'bad',
  method_not_found: 'bad',
  upstream_failed: 'bad',
  defect: 'bad',
  not_answered: 'bad',
  unconfirmed: 'bad',
  replica_died: 'bad',
  refunded: 'neutral',
}

const isKnown = (outcome: string): outcome is UsageOutcome => Object.hasOwn(tones, outcome)

/** A newer gateway may send a word that this page does not know: it is shown as it came. */
export const callOutcome = (outcome: string): { tone: Tone; text: string } =>
  isKnown(outcome)
    ? { tone: tones[outcome], text: buyer.calls.outcomes[outcome] }
    : { tone: 'neutral', text: outcome }
