import { type Asset } from '@tollgate/protocol'
import { Button, Group, SegmentedControl, Select, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconPlus } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import {
  emptyWay,
  type ResourceForm as Values,
  toResourceRequest,
  validateResource,
} from './resource-request'
import { WayFields } from './way-fields'

const texts = merchant.resources.form
const MAX_WAYS = 16

type Props = {
  assets: readonly Asset[]
  initial: Values
  metadata: Record<string, unknown>
  action: string
  save: (body: object) => Promise<void>
}

export function ResourceForm({ assets, initial, metadata, action, save }: Props) {
  const form = useForm<Values>({ initialValues: initial, validate: validateResource(assets) })
  const work = useMutation({
    mutationFn: (values: Values) => save(toResourceRequest(values, assets, metadata)),
  })
  return (
    <form onSubmit={form.onSubmit((values) => work.mutate(values))}>
      <Stack gap="md" maw={720}>
        <TextInput
          label={texts.resource}
          description={texts.resourceHint}
          placeholder="https://shop.example/weather"
          required
          {...form.getInputProps('resource')}
        />
        <Group gap="md" align="flex-start">
          <Select
            label={texts.type}
            data={[...new Set(['http', 'endpoint', initial.type])]}
            allowDeselect={false}
            w={160}
            {...form.getInputProps('type')}
          />
          <div>
            <Text size="sm" fw={500} mb={3} id="x402-version">
              {texts.version}
            </Text>
            <SegmentedControl
              aria-labelledby="x402-version"
              data={['1', '2']}
              {...form.getInputProps('x402Version')}
            />
          </div>
        </Group>
        {form.values.ways.map((_, index) => (
          <WayFields key={index} form={form} index={index} assets={assets} />
        ))}
        {form.values.ways.length < MAX_WAYS && (
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} aria-hidden />}
            style={{ alignSelf: 'flex-start' }}
            onClick={() => form.insertListItem('ways', emptyWay(assets))}
          >
            {texts.addWay}
          </Button>
        )}
        <Textarea
          label={texts.description}
          description={texts.descriptionHint}
          autosize
          {...form.getInputProps('description')}
        />
        <TextInput
          label={texts.mimeType}
          placeholder="application/json"
          {...form.getInputProps('mimeType')}
        />
        {work.isError && <Failure error={work.error} />}
        <Button type="submit" loading={work.isPending} style={{ alignSelf: 'flex-start' }}>
          {action}
        </Button>
      </Stack>
    </form>
  )
}
