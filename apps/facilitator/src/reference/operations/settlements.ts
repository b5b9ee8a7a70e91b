import { SettlementAnswer, SettlementPage, SettlementPath, SettlementsQuery } from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { z } from 'zod'
import { callers, refusals } from './errors'

const shared = {
  method: 'get',
  tag: 'Settlements',
  auth: [...callers.client, ...callers.user],
} as const

const refused = {
  UNAUTHORIZED: 'Neither a valid client key nor a valid access token was sent.',
  FORBIDDEN: 'The scope of the client key does not cover `settlements`.',
  ...refusals.limited,
  ...refusals.longResponses,
}

export const settlementOperations: Operation[] = [
  {
    ...shared,
    id: 'listSettlements',
    path: '/api/v1/settlements',
    summary: 'List your settlements, newest first.',
    description:
      'With a client key those of the key, with an access token those of all your keys; admins get those of all users. Pages that follow `next` repeat and skip nothing while new settlements come in. With `Accept: text/csv` the same columns as CSV; its `Link` header has the next page.',
    query: SettlementsQuery,
    answers: {
      200: {
        description: 'One page of settlements.',
        schema: SettlementPage,
        headers: {
          Link: {
            description: 'Of CSV, if there is a next page: its address, with `rel="next"`.',
            schema: z.string(),
          },
        },
      },
    },
    errors: { INVALID_REQUEST: 'A filter, `limit` or `cursor` is wrong.', ...refused },
  },
  {
    ...shared,
    id: 'getSettlement',
    path: '/api/v1/settlements/{id}',
    summary: 'Get one of your settlements, with its transactions and timeline.',
    pathParameters: SettlementPath,
    answers: { 200: { description: 'The settlement.', schema: SettlementAnswer } },
    errors: {
      INVALID_REQUEST:
        'Several of your settlements have this hash or payment identifier; filter the list by it.',
      ...refused,
      NOT_FOUND: 'You have no such settlement.',
    },
  },
]
