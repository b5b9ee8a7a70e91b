import {
  DiscoveryList,
  DiscoveryListV2,
  DiscoveryMerchantQuery,
  DiscoveryQuery,
  DiscoveryRootList,
  DiscoveryRootQuery,
  DiscoverySearchQuery,
  DiscoverySearchResult,
  MerchantResources,
  RecordPath,
  ResourceCreated,
  ResourcePage,
  ResourceRegistration,
  ResourcesQuery,
  ResourceUpdated,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { type z } from 'zod'
import { callers, refusals } from './errors'

const tag = 'Resources'

const registering = {
  INVALID_REQUEST:
    'A field is missing or wrong, or a way to pay names a network, an asset or a recipient that cannot be paid.',
  ...refusals.user,
  UNAVAILABLE: 'The network of an asset has not been reached yet; nothing was registered.',
}

const discovery = (
  id: string,
  path: string,
  schema: z.ZodType,
  query: z.ZodObject = DiscoveryQuery,
): Operation => ({
  id,
  method: 'get',
  path,
  tag,
  summary: 'List the resources that can be paid for, in the format of x402 clients.',
  description:
    'Those that have a URL of their own, each with the ways to pay that are open now, spelled out: the registered ones, then those that settled payments declared.',
  query,
  answers: { 200: { description: 'One page of resources.', schema } },
  errors: { ...refusals.limited, ...refusals.longResponses },
})

const search = (id: string, path: string): Operation => ({
  id,
  method: 'get',
  path,
  tag,
  summary: 'Search the resources that can be paid for, by words.',
  description:
    'Finds resources that have all the words in their URL, description, service name or tags, or, if there are none, any of them. The best matches come first.',
  query: DiscoverySearchQuery,
  answers: { 200: { description: 'One page of matches.', schema: DiscoverySearchResult } },
  errors: { ...refusals.limited, ...refusals.longResponses },
})

const merchant = (id: string, path: string): Operation => ({
  id,
  method: 'get',
  path,
  tag,
  summary: 'List the resources that pay an address.',
  query: DiscoveryMerchantQuery,
  answers: { 200: { description: 'One page of resources.', schema: MerchantResources } },
  errors: { ...refusals.limited, ...refusals.longResponses },
})

export const resourceOperations: Operation[] = [
  {
    id: 'createResource',
    method: 'post',
    path: '/api/v1/resources',
    tag,
    summary: 'Register a protected resource and what it accepts.',
    auth: callers.user,
    body: { schema: ResourceRegistration },
    answers: { 201: { description: 'The resource is registered under this `id`.', schema: ResourceCreated } },
    errors: { ...registering, CONFLICT: 'You have the maximum number of resources.' },
  },
  {
    id: 'listOwnResources',
    method: 'get',
    path: '/api/v1/users/resources',
    tag,
    summary: 'List your resources.',
    auth: callers.user,
    query: ResourcesQuery,
    answers: { 200: { description: 'One page of resources.', schema: ResourcePage } },
    errors: { ...refusals.user, ...refusals.longResponses },
  },
  {
    id: 'listResources',
    method: 'get',
    path: '/api/v1/resources',
    tag,
    summary: 'List the resources of all users.',
    query: ResourcesQuery,
    answers: { 200: { description: 'One page of resources.', schema: ResourcePage } },
    errors: { ...refusals.limited, ...refusals.longResponses },
  },
  {
    id: 'updateResource',
    method: 'put',
    path: '/api/v1/resources/{id}',
    tag,
    summary: 'Replace one of your resources.',
    auth: callers.user,
    pathParameters: RecordPath,
    body: { schema: ResourceRegistration },
    answers: { 200: { description: 'The resource is replaced.', schema: ResourceUpdated } },
    errors: {
      ...registering,
      FORBIDDEN: 'It belongs to another user, and you are not an admin.',
      NOT_FOUND: 'There is no such resource.',
    },
  },
  discovery('discoverResources', '/api/v1/discovery/resources', DiscoveryList),
  discovery('discoverResourcesV2', '/api/v2/discovery/resources', DiscoveryListV2),
  discovery('discoverResourcesAtRoot', '/discovery/resources', DiscoveryRootList, DiscoveryRootQuery),
  search('searchResourcesV2', '/api/v2/discovery/search'),
  search('searchResourcesAtRoot', '/discovery/search'),
  merchant('discoverMerchantV2', '/api/v2/discovery/merchant'),
  merchant('discoverMerchantAtRoot', '/discovery/merchant'),
]
