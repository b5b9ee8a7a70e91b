import { type Asset } from '@tollgate/protocol'
import { Alert, Select, SimpleGrid, Tabs, TextInput } from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import { useState } from 'react'
import { merchant } from '../../texts'
import { findAsset } from '../find-asset'
import { Section } from '../../ui/section'
import { formatUnits } from '../../ui/format'
import { parseUnits } from '../../ui/parse-units'
import { readPrice } from '../read-price'
import { type Framework, frameworks, isKnownAsset, type Offer, snippetOf } from './snippet'
import { SnippetSteps } from './snippet-steps'

const texts = merchant.snippets

type ListedAsset = { network: string; address: string; symbol: string; decimals: number }

const isEvm = ({ network }: ListedAsset) => network.startsWith('eip155:')
const isAddress = (text: string) => /^0x[0-9a-fA-F]{40}$/.test(text)
const networkName = ({ network, address }: ListedAsset, named: readonly Asset[]) =>
  findAsset(named, { network, asset: address })?.network ?? network
const keyOf = ({ network, address }: ListedAsset) => `${network}/${address}`

type Props = {
  facilitator: string
  assets: readonly ListedAsset[]
  /** The same assets with the names of their networks. */
  named: readonly Asset[]
}

export function SnippetBuilder({ facilitator, assets, named }: Props) {
  const usable = assets.filter(isEvm)
  const [framework, setFramework] = useState<Framework>('express')
  const [chosen, setChosen] = useState<string | null>(null)
  const [price, setPrice] = useState('0.01')
  const [payTo, setPayTo] = useState('')
  const asset = usable.find((one) => keyOf(one) === chosen) ?? usable[0]
  if (asset === undefined) return <Alert color="gray">{texts.noAsset}</Alert>

  const amount = parseUnits(price, asset.decimals)
  const isPriced = amount !== undefined && amount > 0n
  const offer: Offer = {
    facilitator,
    network: asset.network,
    asset,
    price: isPriced ? formatUnits(amount, asset.decimals) : '0.01',
    payTo: isAddress(payTo.trim()) ? payTo.trim() : texts.placeholder,
  }
  return (
    <>
      <Section title={texts.values}>
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
          <Select
            label={texts.asset}
            data={usable.map((one) => ({
              value: keyOf(one),
              label: texts.assetOn(one.symbol, networkName(one, named)),
            }))}
            value={keyOf(asset)}
            onChange={setChosen}
            allowDeselect={false}
          />
          <TextInput
            label={texts.price(asset.symbol)}
            inputMode="decimal"
            value={price}
            onChange={({ currentTarget }) => setPrice(currentTarget.value)}
            error={!isPriced && texts.priceWrong(asset.decimals)}
            {...readPrice(price, asset)}
          />
          <TextInput
            label={texts.payTo}
            placeholder="0x…"
            className="mono-input"
            spellCheck={false}
            autoComplete="off"
            value={payTo}
            onChange={({ currentTarget }) => setPayTo(currentTarget.value)}
            error={payTo.trim() !== '' && !isAddress(payTo.trim()) && texts.payToWrong}
          />
        </SimpleGrid>
      </Section>
      {!isKnownAsset(offer) && (
        <Alert color="yellow" icon={<IconInfoCircle aria-hidden />} title={texts.checkDomain(asset.symbol)}>
          {texts.checkDomainText}
        </Alert>
      )}
      <Tabs
        value={framework}
        onChange={(value) => setFramework((value ?? 'express') as Framework)}
        keepMounted={false}
      >
        <Tabs.List>
          {frameworks.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {texts.frameworks[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {frameworks.map((one) => (
          <Tabs.Panel key={one} value={one} pt="md">
            <SnippetSteps snippet={snippetOf(one, offer)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  )
}
