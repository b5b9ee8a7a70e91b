import {
  createTollgate,
  type AssetLimit,
  type Limits,
  type Plan,
  type Tollgate,
  type WalletStorage,
} from '@tollgate/wallet'
import { fileStorage } from '@tollgate/wallet/file-storage'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { networkOf, parseAmount } from './amounts'
import { assertKnownAsset, isSameAsset, parseAssets, parseNamedAssets } from './assets/known-assets'
import { createPaidAsset } from './assets/paid-asset'
import { type KnownAsset } from './assets/stablecoins'
import { UsageError } from './exit-codes'
import { type Output } from './output/output'
import { printable } from './output/printable'
import { type Secrets, type Terminal } from './terminal'
import { openWallet, type OpenWallet, type WalletOptions } from './wallets/open-wallet'

/** The options of every command. */
export type ClientOptions = WalletOptions & {
  url?: string
  plan?: string
  /** `0.05 USDC`, or `0.05` of the asset of the plan. */
  maxPayment?: string
  maxDay?: string
  /** `NETWORK/ASSET:DECIMALS`. */
  asset?: string[]
  folder?: string
  serviceName?: string
  /** `CHAIN=URL`. */
  node?: string[]
  json?: boolean
  color?: boolean
}

export type OpenClient = {
  tollgate: Tollgate
  wallet: OpenWallet
  storage: WalletStorage
  folder: string
  /** Undefined: nothing is paid. */
  limits: Limits | undefined
  /** Nodes that the user has chosen. */
  trustedUrls: readonly string[]
  /** Asked once. */
  plans(): Promise<Plan[]>
  /** The plan that the user has chosen; without one, the only one that this wallet can pay. */
  plan(): Promise<Plan | undefined>
}

export type ClientParts = {
  terminal: Terminal
  output: Output
  secrets: Secrets
  /** If it may be open already. */
  openWallet?: () => Promise<OpenWallet>
}

/** Decides what a command may pay. */
export type DecidePayment = (parts: {
  wallet: OpenWallet
  /** Asked once. */
  plans(): Promise<Plan[]>
  storage: WalletStorage
  /** Of the gateway. */
  url: string
}) => Promise<{ planId?: number; limits: Limits | undefined }>

/** @throws UsageError, TollgateError */
export async function openClient(
  options: ClientOptions,
  parts: ClientParts,
  decide: DecidePayment = payNothing,
): Promise<OpenClient> {
  const url = urlOf(options)
  const nodes = parseNodes(options.node ?? [])
  const id = parsePlan(options.plan)
  const wallet = await (parts.openWallet?.() ?? openWallet(options, parts))
  const folder = folderOf(options, parts.terminal.environment)
  const storage = fileStorage(folder)
  const reader = openReader(options)
  let known: Promise<Plan[]> | undefined
  const plans = () => (known ??= reader.plans().then((sold) => sold.map(withPrintableNames)))
  const { planId = id, limits } = await decide({ wallet, plans, storage, url: reader.url })
  const { serviceName } = options
  const tollgate = createTollgate({
    url,
    wallet: wallet.signer,
    storage,
    nodes,
    ...(planId === undefined ? {} : { plan: planId }),
    ...(limits === undefined ? {} : { limits }),
    ...(serviceName === undefined ? {} : { serviceName }),
  })
  return {
    ...{ tollgate, wallet, storage, folder, limits, plans },
    trustedUrls: Object.values(nodes),
    plan: async () => only(candidates(await plans(), { id: planId, ecosystem: wallet.ecosystem })),
  }
}

/** What the gateway calls its plans is shown beside prices, and must not rewrite the terminal. */
const withPrintableNames = (plan: Plan): Plan => ({
  ...plan,
  plan_name: printable(plan.plan_name),
  network: printable(plan.network),
  display_denom: printable(plan.display_denom),
  pay_to: printable(plan.pay_to),
})

/** For what needs no wallet. @throws UsageError */
export const openReader = (options: Pick<ClientOptions, 'url'>): Tollgate =>
  createTollgate({ url: urlOf(options), wallet: NO_ACCOUNT })

const NO_ACCOUNT = { request: () => Promise.reject(new Error('There is no wallet')) }

/** @throws UsageError */
export function urlOf({ url }: Pick<ClientOptions, 'url'>): string {
  if (url === undefined) throw new UsageError('Give the URL of a gateway with --url or TOLLGATE_URL')
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return url
  const whole = `http://${url}`
  const advice =
    url.includes('://') || !URL.canParse(whole) ? 'http:// or https:// and a host' : `${whole}, or https://`
  throw new UsageError(`--url ${printable(url)} is no URL of a gateway: write ${advice}`)
}

/** XDG's folder for state. @throws UsageError */
export function folderOf(
  { folder }: Pick<ClientOptions, 'folder'>,
  environment: Terminal['environment'],
): string {
  if (folder !== undefined) return folder
  const state = environment['XDG_STATE_HOME'] ?? ''
  return join(isAbsolute(state) ? state : join(homedir(), '.local', 'state'), 'tollgate')
}

/** @throws UsageError */
export function parsePlan(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new UsageError('--plan is a number of `tollgate plans`')
  return Number(text)
}

/** @throws UsageError */
export function parseNodes(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=')
      const [chain, url] = [text.slice(0, at), text.slice(at + 1)]
      if (at < 1 || !URL.canParse(url) || !/^https?:/.test(url))
        throw new UsageError('--node takes CHAIN=URL, such as cosmoshub-4=https://rpc.example')
      return [chain, url]
    }),
  )
}

type Choice = { id: number | undefined; ecosystem: string }

/** @throws UsageError if the plan is not sold */
export function candidates(plans: readonly Plan[], { id, ecosystem }: Choice): Plan[] {
  if (id === undefined) return plans.filter((plan) => plan.ecosystem === ecosystem)
  const plan = plans.find((one) => one.id === id)
  if (plan) return [plan]
  throw new UsageError(`--plan: no plan ${id} is sold; see \`tollgate plans\``)
}

const only = <T>(items: readonly T[]): T | undefined => (items.length === 1 ? items[0] : undefined)

const payNothing: DecidePayment = () => Promise.resolve({ limits: undefined })

/** For commands that pay by themselves: as --max-payment and --max-day allow. @throws UsageError, CommandError */
export const payWithinLimits =
  ({ maxPayment, maxDay, plan, asset = [] }: ClientOptions): DecidePayment =>
  async ({ wallet, plans, storage, url }) => {
    const known = parseAssets(asset)
    if (maxPayment === undefined) {
      if (maxDay !== undefined)
        throw new UsageError('--max-day needs --max-payment, the most for one payment')
      return { limits: undefined }
    }
    const payable = candidates(await plans(), { id: parsePlan(plan), ecosystem: wallet.ecosystem })
    assertOneAsset(payable)
    const [paid] = payable.map((one) => assertKnownAsset(one, known))
    if (!paid) return { limits: undefined }
    const approve = await approveSameAsset(paid, { wallet, storage, url, options: { asset } })
    return { limits: { assets: [toLimit(paid, { maxPayment, maxDay })], approve } }
  }

/**
 * For the limits of an asset: payments in it are what the wallet pays this gateway in from now on.
 *
 * @throws CommandError ASSET_CHANGED if it was another one before
 */
export async function approveSameAsset(
  asset: KnownAsset,
  parts: Pick<Parameters<DecidePayment>[0], 'wallet' | 'storage' | 'url'> & {
    options: Pick<ClientOptions, 'asset'>
  },
): Promise<() => Promise<boolean>> {
  const { wallet, storage, url, options } = parts
  const named = parseNamedAssets(options.asset ?? [])
  const paid = createPaidAsset(storage, { url, address: wallet.address, named })
  await paid.assertUnchanged(asset)
  return async () => {
    await paid.remember(asset)
    return true
  }
}

/** @throws UsageError if plans are paid in several assets, or there is none */
export function assertOneAsset(plans: readonly Plan[]): void {
  if (plans.length === 0)
    throw new UsageError('--max-payment: the gateway sells no plan that this wallet can pay; give --plan')
  const assets = plans.map((plan) => ({ network: networkOf(plan), asset: plan.asset_address }))
  if (assets.every((asset) => assets[0] && isSameAsset(asset, assets[0]))) return
  const list = plans
    .map(({ id, display_denom, network }) => `${id} (${display_denom} on ${network})`)
    .join(', ')
  throw new UsageError(`--max-payment is in the asset of a plan: give --plan, one of ${list}`)
}

/** @throws UsageError */
export const toLimit = (
  asset: KnownAsset,
  { maxPayment, maxDay }: { maxPayment: string; maxDay: string | undefined },
): AssetLimit => ({
  network: asset.network,
  asset: asset.asset,
  perPayment: unitsOf('--max-payment', maxPayment, asset),
  ...(maxDay === undefined ? {} : { perDay: unitsOf('--max-day', maxDay, asset) }),
})

/** Smallest units of an amount that an option gives. @throws UsageError */
export function unitsOf(option: string, text: string, { symbol, asset, decimals }: KnownAsset): bigint {
  const [, number = '', unit] = /^(\S+)(?: +(\S+))?$/.exec(text) ?? []
  const units = unit === undefined || unit === symbol ? parseAmount(number, decimals) : undefined
  if (units !== undefined) return units
  const example = symbol === undefined ? '0.05' : `"0.05 ${symbol}"`
  throw new UsageError(
    `${option}: ${text} is not an amount of ${symbol ?? asset}, which has ${decimals} decimals; write it as ${example}`,
  )
}
