import {
  NewWebhook,
  WebhookChange,
  WebhookDeleted,
  WebhookDeliveriesQuery,
  WebhookDeliveryDetail,
  WebhookDeliveryPage,
  WebhookDeliveryPath,
  WebhookDeliveryShown,
  WebhookList,
  WebhookPath,
  WebhookReplayed,
  WebhookReplayRequest,
  WebhookShown,
  WebhookWithSecret,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { callers, refusals } from './errors'

const common = { tag: 'Webhooks', auth: callers.user }
const INVALID_PATH = 'The path is not an id.'
const unknown = { INVALID_REQUEST: INVALID_PATH, ...refusals.user, NOT_FOUND: 'You have no such webhook.' }
const invalid = { ...unknown, INVALID_REQUEST: 'The path is not an id, or a field is wrong.' }
const unknownDelivery = { ...unknown, NOT_FOUND: 'You have no such webhook or delivery.' }

export const webhookOperations: Operation[] = [
  {
    ...common,
    id: 'createWebhook',
    method: 'post',
    path: '/api/v1/webhooks',
    summary: 'Have events of your settlements sent to a URL.',
    description:
      'Each event is one POST, signed as Standard Webhooks has it, at least once and in order for each settlement. What is not answered with 2xx within 10 seconds is sent again for three days. Redirects are not followed. At most 10 for an account, and 100 created within a day.',
    body: { schema: NewWebhook },
    answers: {
      201: { description: 'The endpoint and its secret, which is shown once.', schema: WebhookWithSecret },
    },
    errors: {
      INVALID_REQUEST: 'A field is missing or wrong, or the URL is not one of a public host.',
      ...refusals.user,
      CONFLICT: 'The account has the maximum number of webhooks.',
    },
  },
  {
    ...common,
    id: 'listWebhooks',
    method: 'get',
    path: '/api/v1/webhooks',
    summary: 'List your webhooks.',
    answers: { 200: { description: 'All of them, without secrets.', schema: WebhookList } },
    errors: refusals.user,
  },
  {
    ...common,
    id: 'updateWebhook',
    method: 'put',
    path: '/api/v1/webhooks/{id}',
    summary: 'Change a webhook; members that are left out stay as they are.',
    pathParameters: WebhookPath,
    body: { schema: WebhookChange },
    answers: { 200: { description: 'The changed webhook.', schema: WebhookShown } },
    errors: invalid,
  },
  {
    ...common,
    id: 'deleteWebhook',
    method: 'delete',
    path: '/api/v1/webhooks/{id}',
    summary: 'Delete a webhook; pending deliveries are not sent.',
    pathParameters: WebhookPath,
    answers: { 200: { description: 'The deleted webhook.', schema: WebhookDeleted } },
    errors: unknown,
  },
  {
    ...common,
    id: 'rotateWebhookSecret',
    method: 'post',
    path: '/api/v1/webhooks/{id}/secret',
    summary: 'Get a new secret. For 24 hours both sign.',
    pathParameters: WebhookPath,
    answers: { 200: { description: 'The webhook and its new secret.', schema: WebhookWithSecret } },
    errors: unknown,
  },
  {
    ...common,
    id: 'testWebhook',
    method: 'post',
    path: '/api/v1/webhooks/{id}/test',
    summary: 'Send a `webhook.test` event to a webhook.',
    pathParameters: WebhookPath,
    answers: { 200: { description: 'The delivery, which is pending.', schema: WebhookDeliveryShown } },
    errors: { ...unknown, CONFLICT: 'The webhook is not active, or 10 of its test events are pending.' },
  },
  {
    ...common,
    id: 'replayWebhook',
    method: 'post',
    path: '/api/v1/webhooks/{id}/replay',
    summary: 'Send the events of a time range again, under the same ids.',
    pathParameters: WebhookPath,
    body: { schema: WebhookReplayRequest },
    answers: { 200: { description: 'How many deliveries are pending again.', schema: WebhookReplayed } },
    errors: { ...invalid, ...refusals.longResponses },
  },
  {
    ...common,
    id: 'listWebhookDeliveries',
    method: 'get',
    path: '/api/v1/webhooks/{id}/deliveries',
    summary: 'List the deliveries of a webhook, newest first. Ended ones are kept for 30 days.',
    pathParameters: WebhookPath,
    query: WebhookDeliveriesQuery,
    answers: { 200: { description: 'One page.', schema: WebhookDeliveryPage } },
    errors: { ...invalid, ...refusals.longResponses },
  },
  {
    ...common,
    id: 'getWebhookDelivery',
    method: 'get',
    path: '/api/v1/webhooks/{id}/deliveries/{deliveryId}',
    summary: 'Get a delivery with its body and the log of its attempts.',
    pathParameters: WebhookDeliveryPath,
    answers: {
      200: { description: 'The delivery; at most its newest 100 attempts.', schema: WebhookDeliveryDetail },
    },
    errors: unknownDelivery,
  },
  {
    ...common,
    id: 'replayWebhookDelivery',
    method: 'post',
    path: '/api/v1/webhooks/{id}/deliveries/{deliveryId}/replay',
    summary: 'Send a delivery again under the same id; a pending one without further waiting.',
    pathParameters: WebhookDeliveryPath,
    answers: { 200: { description: 'The delivery, which is pending.', schema: WebhookDeliveryShown } },
    errors: unknownDelivery,
  },
]
