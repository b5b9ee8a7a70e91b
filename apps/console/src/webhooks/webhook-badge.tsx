import { webhooks as texts } from '../texts'
import { StatusBadge, type Tone } from '../ui/status-badge'
import { type Delivery, type DeliveryState, type Webhook } from './webhook'

export function WebhookBadge({ webhook: { active, failingSince = null } }: { webhook: Webhook }) {
  if (!active) return <StatusBadge tone="neutral">{texts.states.inactive}</StatusBadge>
  if (failingSince !== null) return <StatusBadge tone="bad">{texts.states.failing}</StatusBadge>
  return <StatusBadge tone="good">{texts.states.active}</StatusBadge>
}

const tones: Record<DeliveryState, Tone> = { pending: 'waiting', delivered: 'good', failed: 'bad' }

export const DeliveryBadge = ({ state }: Pick<Delivery, 'state'>) => (
  <StatusBadge tone={tones[state]}>{texts.deliveries.states[state]}</StatusBadge>
)
