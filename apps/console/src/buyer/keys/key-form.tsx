import {
  Button,
  Group,
  MultiSelect,
  NumberInput,
  SimpleGrid,
  Stack,
  TagsInput,
  TextInput,
} from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { type CreatedAccessKey, type NewAccessKey } from '@tollgate/wallet'
import { buyer } from '../../texts'
import { Failure } from '../../ui/failure'
import { useProviders } from '../data'

const texts = buyer.keys

type Values = {
  label: string
  maxCredits: number | ''
  maxCreditsPerDay: number | ''
  days: number | ''
  chains: string[]
  methods: string[]
  origins: string[]
}

const empty: Values = {
  label: '',
  maxCredits: '',
  maxCreditsPerDay: '',
  days: '',
  chains: [],
  methods: [],
  origins: [],
}

const DAY_MS = 86_400_000

const newKey = (values: Values, now: number): NewAccessKey => ({
  label: values.label.trim(),
  ...(values.maxCredits === '' ? {} : { max_credits: values.maxCredits }),
  ...(values.maxCreditsPerDay === '' ? {} : { max_credits_per_day: values.maxCreditsPerDay }),
  ...(values.days === '' ? {} : { expires_at: new Date(now + values.days * DAY_MS).toISOString() }),
  chains: values.chains,
  methods: values.methods,
  origins: values.origins,
})

type Props = {
  create: (key: NewAccessKey) => Promise<CreatedAccessKey>
  onCreated: (key: CreatedAccessKey) => void
}

/** Keeps its input until the key is created. */
export function KeyForm({ create, onCreated }: Props) {
  const { data: providers = [] } = useProviders()
  const chains = new Map(providers.map(({ chain_id, network }) => [chain_id, network ?? chain_id]))
  const form = useForm<Values>({
    initialValues: empty,
    validate: { label: (label) => (label.trim() === '' ? texts.labelNeeded : null) },
  })
  const creating = useMutation({
    mutationFn: (values: Values) => create(newKey(values, Date.now())),
    onSuccess(key) {
      form.reset()
      onCreated(key)
    },
  })
  return (
    <form onSubmit={form.onSubmit((values) => creating.mutate(values))}>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput label={texts.label} description={texts.labelText} {...form.getInputProps('label')} />
          <NumberInput
            label={texts.expiresIn}
            description={texts.expiresInText}
            min={1}
            allowDecimal={false}
            {...form.getInputProps('days')}
          />
          <NumberInput
            label={texts.maxCredits}
            description={texts.unlimited}
            min={1}
            allowDecimal={false}
            {...form.getInputProps('maxCredits')}
          />
          <NumberInput
            label={texts.maxCreditsPerDay}
            description={texts.unlimited}
            min={1}
            allowDecimal={false}
            {...form.getInputProps('maxCreditsPerDay')}
          />
          <MultiSelect
            label={texts.chains}
            description={texts.everyIfEmpty}
            data={[...chains].map(([value, label]) => ({ value, label }))}
            {...form.getInputProps('chains')}
          />
          <TagsInput
            label={texts.methods}
            description={texts.everyIfEmpty}
            {...form.getInputProps('methods')}
          />
          <TagsInput
            label={texts.origins}
            description={texts.originsText}
            {...form.getInputProps('origins')}
          />
        </SimpleGrid>
        {creating.isError && <Failure error={creating.error} />}
        <Group>
          <Button type="submit" loading={creating.isPending}>
            {texts.create}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
