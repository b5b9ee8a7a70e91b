import {
  OperatorAssetPage,
  OperatorAssetPath,
  OperatorAssetReport,
  OperatorAssetsQuery,
  OperatorFeesReport,
  OperatorNetworks,
  OperatorOverviewReport,
  OperatorRetryReport,
  OperatorSettlementPage,
  OperatorSettlementPath,
  OperatorSettlementReport,
  OperatorSettlementsQuery,
  OperatorSigners,
  OperatorUserPath,
  OperatorUserReport,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { adminPrefixes } from './admin'
import { callers, refusals } from './errors'

const read = { method: 'get', tag: 'Admin', auth: callers.admin, errors: refusals.admin } as const
const change = { method: 'post', tag: 'Admin', auth: callers.admin } as const
const notFound = (what: string) => ({
  INVALID_REQUEST: 'The path is not an id.',
  ...refusals.admin,
  NOT_FOUND: `There is no ${what} of this id.`,
})

const viewsUnder = (prefix: string, suffix: string): Operation[] => [
  {
    ...read,
    id: `readOverview${suffix}`,
    path: `${prefix}/overview`,
    summary: 'Small numbers of settlements, signers, assets and nodes, for a first page.',
    description:
      'Each part has its own `error`, so that a dead node or a slow query hides nothing else. The parts are cached for seconds: a page may ask every few seconds.',
    answers: { 200: { description: 'The numbers.', schema: OperatorOverviewReport } },
  },
  {
    ...read,
    id: `listNodes${suffix}`,
    path: `${prefix}/networks`,
    summary: 'List the networks with their nodes: height, lag and errors.',
    description:
      'As the replica that answers sees them. A node is named by its host: an RPC URL may hold a key.',
    answers: { 200: { description: 'All configured networks.', schema: OperatorNetworks } },
  },
  {
    ...read,
    id: `listSigners${suffix}`,
    path: `${prefix}/signers`,
    summary: 'List the signers: balance, threshold, pending transactions and leader.',
    description: 'Also signers whose key is no longer configured, while transactions of theirs are pending.',
    answers: { 200: { description: 'All signers.', schema: OperatorSigners } },
  },
  {
    ...read,
    id: `readFees${suffix}`,
    path: `${prefix}/fees`,
    summary: 'Read the fees of the last 24 hours of each network, against their limits.',
    answers: {
      200: {
        description: 'All configured networks, with their biggest users and keys.',
        schema: OperatorFeesReport,
      },
    },
  },
]

const settlementsUnder = (prefix: string, suffix: string): Operation[] => [
  {
    ...read,
    id: `listOpenSettlements${suffix}`,
    path: `${prefix}/settlements`,
    summary: 'List open settlements, oldest first, or find settlements in any state, newest first.',
    query: OperatorSettlementsQuery,
    answers: { 200: { description: 'One page, each with its next step.', schema: OperatorSettlementPage } },
    errors: { INVALID_REQUEST: 'A field of the query is wrong.', ...refusals.admin },
  },
  {
    ...read,
    id: `readOpenSettlement${suffix}`,
    path: `${prefix}/settlements/{id}`,
    summary: 'Read one settlement: its transaction, its fees and its next step.',
    pathParameters: OperatorSettlementPath,
    answers: {
      200: {
        description: 'The settlement, in any state, without the payer’s signature.',
        schema: OperatorSettlementReport,
      },
    },
    errors: notFound('settlement'),
  },
  {
    ...change,
    id: `retrySettlement${suffix}`,
    path: `${prefix}/settlements/{id}/retry`,
    summary: 'Retry an open settlement at once.',
    description:
      'Safe to repeat: it never pays twice. A claimed settlement is validated now and sent if it would succeed; a signed one is replaced under the same nonce with higher fees, up to `max_fee_per_gas`. The answer says what was done, or why nothing was.',
    pathParameters: OperatorSettlementPath,
    answers: {
      200: { description: 'What was done, and the settlement after it.', schema: OperatorRetryReport },
    },
    errors: notFound('settlement'),
  },
]

const recordsUnder = (prefix: string, suffix: string): Operation[] => [
  {
    ...read,
    id: `listAllAssets${suffix}`,
    path: `${prefix}/assets`,
    summary: 'List all assets, also those that are suspended or out of use.',
    query: OperatorAssetsQuery,
    answers: { 200: { description: 'One page of assets.', schema: OperatorAssetPage } },
    errors: { INVALID_REQUEST: 'A field of the query is wrong.', ...refusals.admin },
  },
  {
    ...change,
    id: `activateAsset${suffix}`,
    path: `${prefix}/assets/{id}/activate`,
    summary: 'Accept payments in an asset again, and end its suspension.',
    description: 'Its transfers are simulated first, as at its registration.',
    pathParameters: OperatorAssetPath,
    answers: { 200: { description: 'The active asset.', schema: OperatorAssetReport } },
    errors: {
      ...notFound('asset'),
      INVALID_REQUEST: 'The path is not an id, or the network of the asset is not served.',
      CONFLICT: 'The token is unfit for payments; the message says why.',
      UNAVAILABLE: 'The network gives no answer just now; nothing was changed.',
    },
  },
  {
    ...change,
    id: `deactivateAsset${suffix}`,
    path: `${prefix}/assets/{id}/deactivate`,
    summary: 'Refuse new payments in an asset; claimed settlements continue.',
    pathParameters: OperatorAssetPath,
    answers: { 200: { description: 'The asset.', schema: OperatorAssetReport } },
    errors: notFound('asset'),
  },
  {
    ...change,
    id: `disableUser${suffix}`,
    path: `${prefix}/users/{id}/disable`,
    summary: 'Reject a user’s logins, tokens and client keys from now on, on every replica.',
    description: 'Its refresh tokens are deleted. Settlements that it claimed continue.',
    pathParameters: OperatorUserPath,
    answers: { 200: { description: 'The user.', schema: OperatorUserReport } },
    errors: notFound('user'),
  },
  {
    ...change,
    id: `enableUser${suffix}`,
    path: `${prefix}/users/{id}/enable`,
    summary: 'Accept a user’s logins and client keys again.',
    pathParameters: OperatorUserPath,
    answers: { 200: { description: 'The user.', schema: OperatorUserReport } },
    errors: notFound('user'),
  },
]

export const operatorOperations: Operation[] = adminPrefixes.flatMap(({ prefix, suffix }) =>
  [viewsUnder, settlementsUnder, recordsUnder].flatMap((operationsUnder) => operationsUnder(prefix, suffix)),
)
