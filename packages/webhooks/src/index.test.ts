import * as webhooks from '.'

test('exports these names and no others', () => {
  expect(Object.keys(webhooks).sort()).toEqual([
    'DELETE_WEBHOOK_DELIVERIES',
    'DELETE_WEBHOOK_ENDPOINTS',
    'DELETE_WEBHOOK_EVENTS',
    'createDeliveryWorker',
    'createEndpointStore',
    'createWebhookHandlers',
    'showEndpoint',
  ])
})
