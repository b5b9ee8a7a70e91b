import { z } from 'zod'
import { count } from '../query'
import { User } from './accounts'
import { cursorPage, exampleAsset, exampleTime, MAX_ID, next, nullableTime } from './fields'
import { Asset } from './networks'

const exampleOperatorAsset = {
  id: 1,
  network: 'base-sepolia',
  asset: exampleAsset,
  symbol: 'USDC',
  decimals: 6,
  active: false,
  suspendedAt: exampleTime,
  suspension: 'a transaction moved another amount than its payer signed',
  createdAt: exampleTime,
}
export const OperatorAsset = Asset.extend({
  suspendedAt: nullableTime.describe('When the facilitator took it out of use by itself.'),
  suspension: z.string().nullable().describe('Why.'),
  createdAt: z.iso.datetime(),
}).meta({
  id: 'OperatorAsset',
  description: 'An asset, also one that is not active.',
  examples: [exampleOperatorAsset],
})
export type OperatorAsset = z.infer<typeof OperatorAsset>
export const OperatorAssetsQuery = z.object(cursorPage(100, 200))
export const OperatorAssetPage = z
  .object({ data: z.object({ assets: z.array(OperatorAsset), next }) })
  .meta({ examples: [{ data: { assets: [exampleOperatorAsset], next: null } }] })
export const OperatorAssetPath = z.object({ id: count(1, MAX_ID).meta({ examples: [1] }) })
export const OperatorAssetReport = z
  .object({ data: OperatorAsset })
  .meta({ examples: [{ data: exampleOperatorAsset }] })

const exampleOperatorUser = {
  id: 2,
  email: 'shop@example.com',
  isAdmin: false,
  createdAt: exampleTime,
  disabledAt: null,
  feeSharePercent: null,
  liveKeys: 3,
}
export const OperatorUser = User.extend({
  disabledAt: nullableTime.describe('Since when its logins, tokens and client keys are rejected.'),
  feeSharePercent: z
    .number()
    .nullable()
    .describe('Its share of each network’s daily fees; null: that of any new user.'),
  liveKeys: z.int().describe('Client keys that are neither deleted nor expired.'),
}).meta({ id: 'OperatorUser', examples: [exampleOperatorUser] })
export type OperatorUser = z.infer<typeof OperatorUser>
export const OperatorUserPath = z.object({ id: count(1, MAX_ID).meta({ examples: [2] }) })
export const OperatorUserReport = z
  .object({ data: OperatorUser })
  .meta({ examples: [{ data: exampleOperatorUser }] })
export const OperatorUserList = z
  .object({ data: z.array(OperatorUser) })
  .meta({ examples: [{ data: [exampleOperatorUser] }] })
