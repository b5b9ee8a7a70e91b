import { type RegisteredResource } from '@tollgate/protocol'
import { Stack, Text } from '@mantine/core'
import { merchant } from '../../texts'
import { Code } from '../../ui/code'
import { StatusBadge, type Tone } from '../../ui/status-badge'
import { Time } from '../../ui/time'

const texts = merchant.resources.ownership

type Ownership = RegisteredResource['ownership']

const tones: Record<Ownership, Tone> = {
  unchecked: 'neutral',
  verified: 'good',
  not_listed: 'waiting',
  unreachable: 'waiting',
}

export const OwnershipBadge = ({ ownership }: { ownership: Ownership }) => (
  <StatusBadge tone={tones[ownership]}>{texts.states[ownership]}</StatusBadge>
)

/** What the origin must publish to be verified. */
export function OwnershipProof({ resource }: { resource: RegisteredResource }) {
  const { resource: url, owner, ownership, verifiedAt } = resource
  if (!url.startsWith('http')) return <Text size="sm">{texts.noOrigin}</Text>
  const document = { version: 1, resources: [url], registrants: [owner] }
  return (
    <Stack gap="xs">
      <div>
        <OwnershipBadge ownership={ownership} />{' '}
        {verifiedAt !== null && (
          <Text component="span" size="sm" c="dimmed">
            <Time at={verifiedAt} />
          </Text>
        )}
      </div>
      <Text size="sm">{texts.stateTexts[ownership]}</Text>
      <Text size="sm">{texts.publish(`${new URL(url).origin}/.well-known/x402`)}</Text>
      <Code label="/.well-known/x402" text={JSON.stringify(document, null, 2)} />
    </Stack>
  )
}
