import { type Asset } from '@tollgate/protocol'
import { Button, Fieldset, Group, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { type UseFormReturnType } from '@mantine/form'
import { merchant } from '../../texts'
import { readPrice } from '../read-price'
import { findById, type ResourceForm } from './resource-request'

const texts = merchant.resources.form

type Props = { form: UseFormReturnType<ResourceForm>; index: number; assets: readonly Asset[] }

/** One way to pay. */
export function WayFields({ form, index, assets }: Props) {
  const { asset = '', price = '' } = form.values.ways[index] ?? {}
  return (
    <Fieldset legend={texts.way(index + 1)}>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          <Select
            label={texts.asset}
            data={assets.map(({ id, symbol, network }) => ({
              value: String(id),
              label: merchant.snippets.assetOn(symbol, network),
            }))}
            allowDeselect={false}
            required
            {...form.getInputProps(`ways.${index}.asset`)}
          />
          <TextInput
            label={texts.price}
            inputMode="decimal"
            required
            {...form.getInputProps(`ways.${index}.price`)}
            {...readPrice(price, findById(assets, asset))}
          />
        </SimpleGrid>
        <TextInput
          label={texts.payTo}
          spellCheck={false}
          autoComplete="off"
          required
          {...form.getInputProps(`ways.${index}.payTo`)}
        />
        {form.values.ways.length > 1 && (
          <Group>
            <Button size="xs" variant="subtle" color="red" onClick={() => form.removeListItem('ways', index)}>
              {texts.removeWay}
            </Button>
          </Group>
        )}
      </Stack>
    </Fieldset>
  )
}
