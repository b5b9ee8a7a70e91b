import { merchant } from '../../texts'
import { StatusBadge, type Tone } from '../../ui/status-badge'
import { type SettlementState } from './settlement'

const tones: Record<SettlementState, Tone> = {
  pending: 'waiting',
  settled: 'good',
  failed: 'bad',
  reversed: 'bad',
}

export const StateBadge = ({ state }: { state: SettlementState }) => (
  <StatusBadge tone={tones[state]}>{merchant.settlements.states[state]}</StatusBadge>
)
