import { Autocomplete, Button, Group, JsonInput, Select, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { serviceUrl } from '../../api/api'
import { buyer, shared } from '../../texts'
import { Code } from '../../ui/code'
import { Loaded } from '../../ui/loaded'
import { Section } from '../../ui/section'
import { type Provider, useProviders } from '../data'
import { isAsking, isOf } from '../purchase/purchase'
import { usePurchases } from '../purchase/purchase-context'
import { useApproval } from '../wallets/use-approval'
import { useClient } from '../wallets/use-client'
import { CallAnswer, CallFailure } from './call-answer'
import { bodyOf, curlOf, examplesOf } from './examples'

const texts = buyer.playground

export function Playground({ address }: { address: string }) {
  const providers = useProviders()
  return (
    <Loaded query={providers}>
      {(all) => {
        const chains = all.filter(({ rpc }) => rpc.length > 0)
        return chains.length === 0 ? (
          <Text>{texts.none}</Text>
        ) : (
          <CallForm address={address} chains={chains} />
        )
      }}
    </Loaded>
  )
}

type Call = { chain: string; body: string }

function CallForm({ address, chains }: { address: string; chains: readonly Provider[] }) {
  const { approve, dialog } = useApproval()
  const client = useClient(approve)
  const queries = useQueryClient()
  const [chain, setChain] = useState(chains[0]?.chain_id ?? '')
  const provider = chains.find(({ chain_id }) => chain_id === chain)
  const examples = examplesOf(provider?.category ?? 'evm', address)
  const [method, setMethod] = useState(examples[0]?.method ?? '')
  const [params, setParams] = useState(JSON.stringify(examples[0]?.params))
  const body = bodyOf(method, params)
  const [lastBody, setLastBody] = useState(body ?? '')
  if (body !== undefined && body !== lastBody) setLastBody(body)
  const { list } = usePurchases()
  const isBuying = list.some((purchase) => isOf(purchase, { address }) && isAsking(purchase))
  const running = useRef<AbortController>(undefined)

  const call = useMutation({
    async mutationFn({ chain: at, body: sent }: Call) {
      if (!client) throw new Error(texts.notReady)
      const startedAt = performance.now()
      running.current = new AbortController()
      const response = await client.fetch(`${serviceUrl}/v1/${encodeURIComponent(at)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: sent,
        signal: running.current.signal,
      })
      const text = await response.text()
      return {
        status: response.status,
        text,
        milliseconds: performance.now() - startedAt,
        charged: response.headers.get('x-credits-charged'),
        remaining: response.headers.get('x-credits-remaining'),
      }
    },
    onSettled: () => queries.invalidateQueries(),
  })

  function choose(next: string) {
    // The answer below is of another call.
    if (!call.isPending) call.reset()
    setMethod(next)
    const example = examples.find((one) => one.method === next)
    if (example) setParams(JSON.stringify(example.params))
  }

  function chooseChain(next: string | null) {
    const found = chains.find(({ chain_id }) => chain_id === next)
    if (!found) return
    if (!call.isPending) call.reset()
    setChain(found.chain_id)
    const [example] = examplesOf(found.category, address)
    if (found.category === provider?.category || !example) return
    setMethod(example.method)
    setParams(JSON.stringify(example.params))
  }

  return (
    <Stack gap="lg">
      {dialog}
      <Section title={texts.call}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (body !== undefined && !call.isPending) call.mutate({ chain, body })
          }}
        >
          <Stack gap="sm">
            <Group grow preventGrowOverflow={false} align="flex-start">
              <Select
                label={texts.chain}
                data={chains.map(({ chain_id, network }) => ({
                  value: chain_id,
                  label: network ?? chain_id,
                }))}
                value={chain}
                onChange={chooseChain}
                allowDeselect={false}
              />
              <Autocomplete
                label={texts.method}
                data={examples.map((one) => one.method)}
                // All of them, whichever is in the field.
                filter={({ options }) => options}
                value={method}
                onChange={choose}
                required
                withAsterisk={false}
              />
            </Group>
            <JsonInput
              label={texts.params}
              value={params}
              onChange={setParams}
              autosize
              minRows={2}
              maxRows={10}
              error={body === undefined ? texts.notJson : undefined}
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            />
            <Group>
              <Button
                type="submit"
                // It is not disabled while a call runs, or it would lose the focus.
                aria-disabled={call.isPending}
                {...(call.isPending ? { 'data-disabled': true } : {})}
                disabled={body === undefined || method === '' || !client}
              >
                {texts.run}
              </Button>
              {call.isPending && (
                <Button variant="default" onClick={() => running.current?.abort()}>
                  {shared.cancel}
                </Button>
              )}
              <Text size="sm" c="dimmed" role="status">
                {call.isPending
                  ? isBuying
                    ? texts.waitsForPurchase
                    : texts.waits
                  : texts.price(provider?.methods[method] ?? 1)}
              </Text>
            </Group>
          </Stack>
        </form>
      </Section>
      {call.isError && <CallFailure error={call.error} />}
      {call.data && <CallAnswer answer={call.data} />}
      <Section title={texts.elsewhere}>
        <Text size="sm" mb="xs">
          {texts.elsewhereText}
        </Text>
        <Code
          text={curlOf(serviceUrl, provider?.network ?? chain, body ?? lastBody)}
          label={texts.elsewhere}
        />
      </Section>
    </Stack>
  )
}
