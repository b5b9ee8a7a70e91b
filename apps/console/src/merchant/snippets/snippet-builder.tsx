import { type Asset, type FacilitatorDocument } from '@tollgate/protocol'
import { Alert, Anchor, Select, SimpleGrid, Tabs, TextInput } from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import { useState } from 'react'
import { serviceUrl } from '../../api/api'
import { merchant } from '../../texts'
import { findAsset } from '../find-asset'
import { Section } from '../../ui/section'
import { formatUnits } from '../../ui/format'
import { parseUnits } from '../../ui/parse-units'
import { readPrice } from '../read-price'
import { type Framework, frameworks, type Offer, snippetOf } from './snippet'
import { SnippetSteps } from './snippet-steps'

const texts = merchant.snippets

type ListedAsset = FacilitatorDocument['facilitator']['assets'][number]
type UsableAsset = ListedAsset & Pick<Offer, 'asset'>['asset']

const isAddress = (text: string) => /^0x[0-9a-fA-F]{40}$/.test(text)
const networkName = ({ network, address }: ListedAsset, named: readonly Asset[]) =>
  findAsset(named, { network, asset: address })?.network ?? network
const keyOf = ({ network, address }: ListedAsset) => `${network}/${address}`
/** The snippets are for EIP-3009, whose payments are signed in the EIP-712 domain of the asset. */
const isUsable = (asset: ListedAsset): asset is UsableAsset =>
  asset.network.startsWith('eip155:') &&
  asset.extra?.name !== undefined &&
  asset.extra.assetTransferMethod === undefined

type Props = {
  facilitator: string
  assets: readonly ListedAsset[]
  /** The same assets with the names of their networks. */
  named: readonly Asset[]
}

export function SnippetBuilder({ facilitator, assets, named }: Props) {
  const usable = assets.filter(isUsable)
  const others = assets.filter((one) => !isUsable(one))
  const nameOf = (one: ListedAsset) => texts.assetOn(one.symbol, networkName(one, named))
  const [framework, setFramework] = useState<Framework>('express')
  const [chosen, setChosen] = useState<string | null>(null)
  const [price, setPrice] = useState('0.01')
  const [payTo, setPayTo] = useState('')
  const asset = usable.find((one) => keyOf(one) === chosen) ?? usable[0]
  if (asset === undefined) return <NotCovered assets={others.map(nameOf)} />

  const amount = parseUnits(price, asset.decimals)
  const problem = problemOf(amount, asset)
  return (
    <>
      <Section title={texts.values}>
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
          <Select
            label={texts.asset}
            data={usable.map((one) => ({ value: keyOf(one), label: nameOf(one) }))}
            value={keyOf(asset)}
            onChange={setChosen}
            allowDeselect={false}
          />
          <TextInput
            label={texts.price(asset.symbol)}
            inputMode="decimal"
            value={price}
            onChange={({ currentTarget }) => setPrice(currentTarget.value)}
            error={problem}
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
      {others.length > 0 && <NotCovered assets={others.map(nameOf)} />}
      {problem === undefined ? (
        <Snippets
          framework={framework}
          onChoose={setFramework}
          offer={{
            facilitator,
            network: asset.network,
            asset,
            price: formatUnits(amount ?? 0n, asset.decimals),
            payTo: isAddress(payTo.trim()) ? payTo.trim() : texts.placeholder,
          }}
        />
      ) : (
        <Alert color="gray" icon={<IconInfoCircle aria-hidden />}>
          {texts.priceNeeded}
        </Alert>
      )}
    </>
  )
}

type SnippetsProps = { offer: Offer; framework: Framework; onChoose: (framework: Framework) => void }

const Snippets = ({ offer, framework, onChoose }: SnippetsProps) => (
  <Tabs
    value={framework}
    onChange={(value) => onChoose((value ?? 'express') as Framework)}
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
)

const leastOf = ({ minAmount, decimals }: ListedAsset) => formatUnits(BigInt(minAmount), decimals)

function problemOf(amount: bigint | undefined, asset: ListedAsset): string | undefined {
  if (amount === undefined || amount === 0n) return texts.priceWrong(asset.decimals)
  return amount < BigInt(asset.minAmount) ? texts.priceTooLow(`${leastOf(asset)} ${asset.symbol}`) : undefined
}

const NotCovered = ({ assets }: { assets: readonly string[] }) => (
  <Alert
    color="gray"
    icon={<IconInfoCircle aria-hidden />}
    title={assets.length === 0 ? texts.noAsset : texts.notCovered(assets.join(', '))}
  >
    {assets.length > 0 && (
      <>
        {texts.notCoveredText}{' '}
        <Anchor href={`${serviceUrl}/docs`} inherit underline="always">
          {texts.reference}
        </Anchor>
      </>
    )}
  </Alert>
)
