import { Alert, Button, Group, Select, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Invitation, type InvitationCreated } from '@tollgate/protocol'
import { useState } from 'react'
import { useSignUpMode } from '../../merchant/sign-in/use-sign-up-mode'
import { operator } from '../../texts'
import { ConfirmButton } from '../../ui/confirm-button'
import { Empty } from '../../ui/empty'
import { Failure } from '../../ui/failure'
import { PagedRows } from '../../ui/paged-rows'
import { Page } from '../../ui/page'
import { type Column } from '../../ui/rows'
import { SecretOnce } from '../../ui/secret-once'
import { Status } from '../../ui/status'
import { Section } from '../../ui/section'
import { StatusBadge, type Tone } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { useAdmin, useAdminPages } from '../admin'

const texts = operator.invitations
const PAGE_ROWS = 100

type Created = InvitationCreated['data']

export function Invitations() {
  const { request } = useAdmin()
  const queries = useQueryClient()
  const { data: mode } = useSignUpMode()
  const [created, setCreated] = useState<Created>()
  const invitations = useAdminPages<Invitation>('/invitations', PAGE_ROWS)
  const readAgain = () => queries.resetQueries({ queryKey: ['admin', '/invitations'] })

  async function revoke(id: number) {
    await request('DELETE', `/invitations/${id}`)
    if (created?.id === id) setCreated(undefined)
    await readAgain()
  }

  return (
    <Page title={texts.title} text={texts.text}>
      {mode !== undefined && (
        <Alert color={mode === 'invitation' ? 'gray' : 'yellow'}>{texts.modes[mode]}</Alert>
      )}
      <Section title={texts.new}>
        <InvitationForm
          onCreated={(one) => {
            setCreated(one)
            void readAgain()
          }}
        />
      </Section>
      <Status>
        {created !== undefined && (
          <SecretOnce
            title={texts.created(created.email)}
            secrets={[[texts.code, created.invitation]]}
            onDone={() => setCreated(undefined)}
          />
        )}
      </Status>
      <Section title={texts.list}>
        <PagedRows
          label={texts.list}
          pages={invitations}
          keyOf={({ id }) => String(id)}
          columns={columnsOf(revoke)}
          empty={<Empty title={texts.none} />}
        />
      </Section>
    </Page>
  )
}

const EXPIRY_HOURS = { day: 24, week: 168, month: 720, never: undefined } as const
type Expiry = keyof typeof EXPIRY_HOURS

function InvitationForm({ onCreated }: { onCreated: (invitation: Created) => void }) {
  const { request } = useAdmin()
  const form = useForm({ mode: 'uncontrolled', initialValues: { email: '', expires: 'week' } })
  const create = useMutation({
    mutationFn({ email, expires }: typeof form.values) {
      const hours = EXPIRY_HOURS[expires as Expiry]
      return request<Created>('POST', '/invitations', {
        ...(email.trim() === '' ? {} : { email: email.trim() }),
        ...(hours === undefined ? {} : { ttl_hours: hours }),
      })
    },
    onSuccess(invitation) {
      form.reset()
      onCreated(invitation)
    },
  })
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
      <Group align="flex-start" gap="md">
        <TextInput
          type="email"
          label={texts.email}
          description={texts.emailHint}
          autoComplete="off"
          w={{ base: '100%', xs: 360 }}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          key={form.key('email')}
          {...form.getInputProps('email')}
        />
        <Select
          label={texts.expires}
          data={Object.entries(texts.expiries).map(([value, label]) => ({ value, label }))}
          allowDeselect={false}
          w={160}
          key={form.key('expires')}
          {...form.getInputProps('expires')}
        />
        <Button type="submit" loading={create.isPending} mt={25}>
          {texts.create}
        </Button>
      </Group>
      {create.isError && <Failure error={create.error} />}
    </form>
  )
}

type State = keyof typeof texts.states

const tones: Record<State, Tone> = { open: 'good', used: 'neutral', expired: 'waiting' }

function stateOf({ usedAt, expiresAt }: Invitation): State {
  if (usedAt !== null) return 'used'
  return expiresAt !== null && Date.parse(expiresAt) < Date.now() ? 'expired' : 'open'
}

const columnsOf = (revoke: (id: number) => Promise<void>): Column<Invitation>[] => [
  { title: texts.id, width: 'minmax(4rem, 0.3fr)', cell: ({ id }) => id },
  {
    title: texts.email,
    width: 'minmax(12rem, 1.2fr)',
    cell: ({ email }) => <span title={email ?? ''}>{email ?? texts.any}</span>,
  },
  {
    title: texts.state,
    width: 'minmax(7rem, 0.6fr)',
    cell: (one) => <StatusBadge tone={tones[stateOf(one)]}>{texts.states[stateOf(one)]}</StatusBadge>,
  },
  { title: texts.createdAt, width: 'minmax(9rem, 0.8fr)', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: texts.expiresAt,
    width: 'minmax(9rem, 0.8fr)',
    cell: ({ expiresAt }) => (expiresAt === null ? texts.never : <Time at={expiresAt} />),
  },
  {
    title: texts.usedAt,
    width: 'minmax(9rem, 0.8fr)',
    cell: ({ usedAt }) => (usedAt === null ? '–' : <Time at={usedAt} />),
  },
  {
    title: texts.actions,
    width: 'minmax(6rem, 0.5fr)',
    cell: ({ id, usedAt }) =>
      usedAt === null && (
        <ConfirmButton
          label={texts.revoke}
          aria-label={texts.revokeOne(id)}
          text={texts.revokeText}
          action={texts.revoke}
          size="compact-xs"
          run={() => revoke(id)}
        />
      ),
  },
]
