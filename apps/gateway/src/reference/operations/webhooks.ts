import {
  NewWalletWebhook,
  WalletWebhook,
  WalletWebhookChange,
  WalletWebhookDeleted,
  WalletWebhookDelivery,
  WalletWebhookDeliveryDetail,
  WalletWebhookDeliveryPage,
  WalletWebhookList,
  WalletWebhookReplayed,
  WalletWebhookWithSecret,
  WebhookDeliveriesQuery,
  WebhookDeliveryPath,
  WebhookPath,
  WebhookReplayRequest,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { refusals } from './errors'

const common = { tag: 'Webhooks', auth: ['bearer'] }
const caller = { ...refusals.bearer, ...refusals.limited }
const unknown = {
  INVALID_REQUEST: 'This is no id.',
  ...caller,
  NOT_FOUND: 'The wallet has no such webhook.',
}
const invalid = {
  ...unknown,
  INVALID_REQUEST: 'This is no id, or a field is wrong.',
  ...refusals.smallBody,
}
const unknownDelivery = { ...unknown, NOT_FOUND: 'The wallet has no such webhook or delivery.' }

export const webhookOperations: Operation[] = [
  {
    ...common,
    id: 'createWebhook',
    method: 'post',
    path: '/webhooks',
    summary: 'Have events of the wallet’s payments and credits sent to a URL.',
    description:
      'Each event is one POST, signed as Standard Webhooks has it, at least once and in order for each payment. What is not answered with 2xx within 10 seconds is sent again for three days. Redirects are not followed. All sessions of the wallet share its webhooks, at most 10.',
    body: { schema: NewWalletWebhook },
    answers: {
      201: {
        description: 'The endpoint and its secret, which is shown once.',
        schema: WalletWebhookWithSecret,
      },
    },
    errors: {
      INVALID_REQUEST: 'A field is missing or wrong, or the URL is not one of a public host.',
      ...caller,
      ...refusals.smallBody,
      CONFLICT: 'The wallet has the maximum number of webhooks.',
    },
  },
  {
    ...common,
    id: 'listWebhooks',
    method: 'get',
    path: '/webhooks',
    summary: 'List the webhooks of the session’s wallet.',
    answers: { 200: { description: 'All of them, without secrets.', schema: WalletWebhookList } },
    errors: caller,
  },
  {
    ...common,
    id: 'updateWebhook',
    method: 'put',
    path: '/webhooks/{id}',
    summary: 'Change a webhook; members that are left out stay as they are.',
    pathParameters: WebhookPath,
    body: { schema: WalletWebhookChange },
    answers: { 200: { description: 'The changed webhook.', schema: WalletWebhook } },
    errors: invalid,
  },
  {
    ...common,
    id: 'deleteWebhook',
    method: 'delete',
    path: '/webhooks/{id}',
    summary: 'Delete a webhook; pending deliveries are not sent.',
    pathParameters: WebhookPath,
    answers: { 200: { description: 'The deleted webhook.', schema: WalletWebhookDeleted } },
    errors: unknown,
  },
  {
    ...common,
    id: 'rotateWebhookSecret',
    method: 'post',
    path: '/webhooks/{id}/secret',
    summary: 'Get a new secret. For 24 hours both sign.',
    pathParameters: WebhookPath,
    answers: { 200: { description: 'The webhook and its new secret.', schema: WalletWebhookWithSecret } },
    errors: unknown,
  },
  {
    ...common,
    id: 'testWebhook',
    method: 'post',
    path: '/webhooks/{id}/test',
    summary: 'Send a `webhook.test` event to a webhook.',
    pathParameters: WebhookPath,
    answers: { 200: { description: 'The delivery, which is pending.', schema: WalletWebhookDelivery } },
    errors: { ...unknown, CONFLICT: 'The webhook is not active, or 10 of its test events are pending.' },
  },
  {
    ...common,
    id: 'replayWebhook',
    method: 'post',
    path: '/webhooks/{id}/replay',
    summary: 'Send the events of a time range again, under the same ids.',
    pathParameters: WebhookPath,
    body: { schema: WebhookReplayRequest },
    answers: {
      200: { description: 'How many deliveries are pending again.', schema: WalletWebhookReplayed },
    },
    errors: invalid,
  },
  {
    ...common,
    id: 'listWebhookDeliveries',
    method: 'get',
    path: '/webhooks/{id}/deliveries',
    summary: 'List the deliveries of a webhook, newest first. Ended ones are kept for 30 days.',
    pathParameters: WebhookPath,
    query: WebhookDeliveriesQuery,
    answers: { 200: { description: 'One page.', schema: WalletWebhookDeliveryPage } },
    errors: { ...unknown, INVALID_REQUEST: 'This is no id, or the query is wrong.' },
  },
  {
    ...common,
    id: 'getWebhookDelivery',
    method: 'get',
    path: '/webhooks/{id}/deliveries/{deliveryId}',
    summary: 'Get a delivery with its body and the log of its attempts.',
    pathParameters: WebhookDeliveryPath,
    answers: {
      200: {
        description: 'The delivery; at most its newest 100 attempts.',
        schema: WalletWebhookDeliveryDetail,
      },
    },
    errors: unknownDelivery,
  },
  {
    ...common,
    id: 'replayWebhookDelivery',
    method: 'post',
    path: '/webhooks/{id}/deliveries/{deliveryId}/replay',
    summary: 'Send a delivery again under the same id; a pending one without further waiting.',
    pathParameters: WebhookDeliveryPath,
    answers: { 200: { description: 'The delivery, which is pending.', schema: WalletWebhookDelivery } },
    errors: unknownDelivery,
  },
]
