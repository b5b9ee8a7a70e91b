import { AssetList, NetworkKind, NetworkPath, StatusReport, SupportedKinds } from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { z } from 'zod'
import { refusals } from './errors'

const tag = 'Networks'

const examples = (z.globalRegistry.get(NetworkKind)?.examples ?? []) as NetworkKind[]
const withExtra = Object.fromEntries(
  examples.map((kind) => [kind.network, { ...kind, extra: { feePayer: kind.feePayer } }]),
)

export const networkOperations: Operation[] = [
  {
    id: 'listNetworks',
    method: 'get',
    path: '/api/v1/networks',
    tag,
    summary: 'List the networks on which payments are accepted.',
    answers: { 200: { description: 'The available networks.', schema: SupportedKinds } },
  },
  {
    id: 'getNetwork',
    method: 'get',
    path: '/api/v1/networks/{id}',
    tag,
    summary: 'Get one network.',
    pathParameters: NetworkPath,
    answers: { 200: { description: 'The network.', schema: NetworkKind, examples: withExtra } },
    errors: {
      INVALID_REQUEST: 'No such network is served.',
      UNAVAILABLE: 'The network gives no answer just now.',
    },
  },
  {
    id: 'listAssets',
    method: 'get',
    path: '/api/v1/assets',
    tag,
    summary: 'List the assets for payments.',
    answers: { 200: { description: 'The active assets.', schema: AssetList } },
    errors: refusals.limited,
  },
  {
    id: 'getStatus',
    method: 'get',
    path: '/api/v1/status',
    tag,
    summary: 'Get the status of this service, its database and its networks.',
    answers: { 200: { description: 'Their status.', schema: StatusReport } },
    errors: refusals.limited,
  },
]
