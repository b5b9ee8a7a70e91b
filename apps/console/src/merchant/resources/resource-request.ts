import { type Asset, type RegisteredResource, type ResourceRegistration } from '@tollgate/protocol'
import { merchant } from '../../texts'
import { parseUnits, writeUnits } from '../../ui/parse-units'
import { findAsset } from '../find-asset'

const texts = merchant.resources.form

/** `asset`: the id of a registered asset, in digits. `price`: in whole units. */
export type WayForm = { asset: string; price: string; payTo: string }

export type ResourceForm = {
  resource: string
  type: string
  x402Version: string
  ways: WayForm[]
  description: string
  mimeType: string
}

export const emptyWay = (assets: readonly Asset[]): WayForm => ({
  asset: String(assets[0]?.id ?? ''),
  price: '0.01',
  payTo: '',
})

export const emptyResource = (assets: readonly Asset[]): ResourceForm => ({
  resource: '',
  type: 'http',
  x402Version: '2',
  ways: [emptyWay(assets)],
  description: '',
  mimeType: '',
})

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

/** A way in an asset that is no longer listed keeps its place, without an asset. */
export const toResourceForm = (resource: RegisteredResource, assets: readonly Asset[]): ResourceForm => ({
  resource: resource.resource,
  type: resource.type,
  x402Version: String(resource.x402Version),
  ways: resource.accepts.map((way) => {
    const asset = findAsset(assets, way)
    return {
      asset: String(asset?.id ?? ''),
      price: asset ? writeUnits(BigInt(way.maxAmountRequired), asset.decimals) : way.maxAmountRequired,
      payTo: way.payTo,
    }
  }),
  description: textOf(resource.metadata['description']),
  mimeType: textOf(resource.metadata['mimeType']),
})

export const findById = (assets: readonly Asset[], id: string) =>
  assets.find((asset) => String(asset.id) === id)

export const validateResource = (assets: readonly Asset[]) => ({
  resource: (url: string) =>
    /^(https?:\/\/[^\s/]|\/(?!\/))\S*$/.test(url.trim()) ? null : texts.resourceWrong,
  ways: {
    asset: (id: string) => (findById(assets, id) ? null : texts.assetMissing),
    price: (price: string, { ways }: ResourceForm, path: string) => {
      const asset = findById(assets, ways[Number(path.split('.')[1])]?.asset ?? '')
      const amount = asset && parseUnits(price, asset.decimals)
      return amount === undefined || amount === 0n ? texts.priceWrong : null
    },
    payTo: (address: string) => (address.trim() === '' ? texts.payToMissing : null),
  },
})

/** Members of `metadata` that the form does not have stay as they are. */
export function toResourceRequest(
  form: ResourceForm,
  assets: readonly Asset[],
  metadata: Record<string, unknown>,
): ResourceRegistration {
  const { description, mimeType, ...others } = metadata
  return {
    resource: form.resource.trim(),
    type: form.type,
    x402Version: form.x402Version === '1' ? 1 : 2,
    accepts: form.ways.flatMap(({ asset: id, price, payTo }) => {
      const asset = findById(assets, id)
      if (!asset) return []
      return [
        {
          scheme: 'exact' as const,
          network: asset.network,
          maxAmountRequired: (parseUnits(price, asset.decimals) ?? 0n).toString(),
          asset: asset.asset,
          payTo: payTo.trim(),
        },
      ]
    }),
    metadata: {
      ...others,
      ...textMember('description', form.description, description),
      ...textMember('mimeType', form.mimeType, mimeType),
    },
  }
}

const textMember = (name: string, text: string, before: unknown): Record<string, unknown> => {
  if (text.trim() !== '') return { [name]: text.trim() }
  return typeof before === 'string' || before === undefined ? {} : { [name]: before }
}
