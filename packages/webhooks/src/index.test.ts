import * as webhooks from '.'

test('exports these names and no others', () => {
  expect(Object.keys(webhooks).sort()).toEqual([
    'createDeliveryWorker',
    'createEndpointStore',
    'createWebhookHandlers',
    'deleteEndpointsOf',
    'showEndpoint',
    'webhookRetentionTasks',
  ])
})
