type ReplayForm = { from: string; to: string; state: string }
type ReplayRequest = { from: string; to?: string; state?: string }

/** What a `datetime-local` field has is in the time zone of the reader. */
const toMoment = (local: string) => new Date(local).toISOString()

/** Without a state, the service replays delivered and failed ones. */
export const toReplayRequest = ({ from, to, state }: ReplayForm): ReplayRequest => ({
  from: toMoment(from),
  ...(to === '' ? {} : { to: toMoment(to) }),
  ...(state === 'ended' ? {} : { state }),
})
