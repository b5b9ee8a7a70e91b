import { Button, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { merchant } from '../../texts'
import { Code } from '../../ui/code'
import { Failure } from '../../ui/failure'
import { askForText, type Challenge, useReserve } from './reservation'
import { type PaymentNetwork } from './use-payment-networks'

const texts = merchant.recipients.form

const filled = (problem: string) => (value: string) => (value.trim() === '' ? problem : null)

/** For wallets that are not in this browser: the text is signed elsewhere. Each attempt to reserve uses the text up. */
export function ReserveByHand({ network }: { network: PaymentNetwork }) {
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { address: '' },
    validate: { address: filled(texts.addressMissing) },
  })
  const asking = useMutation({
    mutationFn: ({ address }: { address: string }) => askForText(network.caip2, address.trim()),
  })
  return (
    <Stack gap="md" maw={720}>
      <Text size="sm">{texts.handText[network.ecosystem]}</Text>
      <form onSubmit={form.onSubmit((values) => asking.mutate(values))}>
        <Stack gap="sm">
          <TextInput
            label={texts.address}
            className="mono-input"
            spellCheck={false}
            autoComplete="off"
            required
            key={form.key('address')}
            {...form.getInputProps('address')}
          />
          {asking.isError && <Failure error={asking.error} />}
          <Button
            type="submit"
            variant="default"
            loading={asking.isPending}
            style={{ alignSelf: 'flex-start' }}
          >
            {asking.data === undefined ? texts.getText : texts.getNewText}
          </Button>
        </Stack>
      </form>
      {asking.data !== undefined && <SignatureForm challenge={asking.data} ecosystem={network.ecosystem} />}
    </Stack>
  )
}

type Props = { challenge: Challenge; ecosystem: PaymentNetwork['ecosystem'] }

function SignatureForm({ challenge, ecosystem }: Props) {
  const reserve = useReserve()
  const isCosmos = ecosystem === 'cosmos'
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { signature: '', pubkey: '' },
    validate: {
      signature: filled(texts.signatureMissing),
      pubkey: (text) => (isCosmos ? filled(texts.pubkeyMissing)(text) : null),
    },
  })
  const work = useMutation({
    mutationFn: ({ signature, pubkey }: typeof form.values) =>
      reserve(challenge, {
        signature: signature.trim(),
        ...(isCosmos ? { pubkey: pubkey.trim() } : {}),
      }),
  })
  return (
    <form onSubmit={form.onSubmit((values) => work.mutate(values))}>
      <Stack gap="sm">
        <Text size="sm" fw={500}>
          {texts.signedText}
        </Text>
        <Code label={texts.signedText} text={challenge.message} isWrapped />
        <Text size="sm" c="dimmed">
          {texts.validOnce}
        </Text>
        <Textarea
          label={texts.signature[ecosystem]}
          className="mono-input"
          autosize
          spellCheck={false}
          required
          key={form.key('signature')}
          {...form.getInputProps('signature')}
        />
        {isCosmos && (
          <TextInput
            label={texts.pubkey}
            className="mono-input"
            spellCheck={false}
            autoComplete="off"
            required
            key={form.key('pubkey')}
            {...form.getInputProps('pubkey')}
          />
        )}
        {work.isError && <Failure error={work.error} />}
        <Button type="submit" loading={work.isPending} style={{ alignSelf: 'flex-start' }}>
          {texts.action}
        </Button>
      </Stack>
    </form>
  )
}
