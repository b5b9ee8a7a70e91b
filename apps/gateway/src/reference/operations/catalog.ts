import {
  PlanPath,
  PricingPlan,
  Provider,
  ProviderPath,
  ProviderQuery,
  SupportedPaymentKind,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { z } from 'zod'

const tag = 'Catalog'

const examplesOf = (schema: z.ZodType) => (z.globalRegistry.get(schema)?.examples ?? []) as unknown[]
const all = <S extends z.ZodType>(schema: S) => z.array(schema).meta({ examples: [examplesOf(schema)] })
const within = <S extends z.ZodType>(data: S) =>
  z.object({ data }).meta({ examples: examplesOf(data).map((example) => ({ data: example })) })

export const catalogOperations: Operation[] = [
  {
    id: 'listPlans',
    method: 'get',
    path: '/pricing',
    tag,
    summary: 'List the active plans.',
    answers: { 200: { description: 'The active plans, by number.', schema: all(PricingPlan) } },
  },
  {
    id: 'getPlan',
    method: 'get',
    path: '/pricing/{id}',
    tag,
    summary: 'Get one active plan.',
    pathParameters: PlanPath,
    answers: { 200: { description: 'The plan.', schema: within(PricingPlan) } },
    errors: {
      INVALID_REQUEST: 'This is no number of a plan.',
      NOT_FOUND: 'There is no active plan of this number.',
    },
  },
  {
    id: 'listProviders',
    method: 'get',
    path: '/providers',
    tag,
    summary: 'List the providers that calls go to.',
    answers: { 200: { description: 'The providers.', schema: within(all(Provider)) } },
  },
  {
    id: 'getProvider',
    method: 'get',
    path: '/providers/{id}',
    tag,
    summary: 'Get one provider of a chain.',
    pathParameters: ProviderPath,
    query: ProviderQuery,
    answers: { 200: { description: 'The provider.', schema: within(Provider) } },
    errors: {
      INVALID_REQUEST: '`category` or `chain_id` is missing or empty.',
      NOT_FOUND: 'There is no such provider on that chain.',
    },
  },
  {
    id: 'listSupportedPayments',
    method: 'get',
    path: '/x402/supported',
    tag,
    summary: 'List the schemes, networks and assets for payments.',
    description:
      'What the payment facilitator supports, a few seconds old at most; while it is away, what it said last.',
    answers: {
      200: {
        description: 'The kinds of payment.',
        schema: z
          .object({ kinds: z.array(SupportedPaymentKind) })
          .meta({ examples: [{ kinds: examplesOf(SupportedPaymentKind) }] }),
      },
    },
    errors: {
      UNAVAILABLE: 'The facilitator cannot be asked, and has not been yet; try again after `Retry-After`.',
    },
  },
]
