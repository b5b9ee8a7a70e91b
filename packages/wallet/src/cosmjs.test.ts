import { Comet38Client } from '@cosmjs/tendermint-rpc'
import { StargateClient } from '@cosmjs/stargate'
import { tollgateRpcClient } from './cosmjs'
import { createNode, limitReached, NodeFailure } from './testing/node'

const chain = 'cosmoshub-4'
const request = (id: number, method: string) => ({ jsonrpc: '2.0' as const, id, method, params: {} })

test('the answer has the id of its request', async () => {
  const node = createNode({ health: () => ({}) })
  const client = tollgateRpcClient(node, chain)
  const expected = { jsonrpc: '2.0', id: 812, result: {} }
  expect(await client.execute(request(812, 'health'))).toEqual(expected)
  expect([node.sent.length, [...node.chains]]).toEqual([1, [chain]])
})

test('with batching the calls of one moment are one request, each with its own answer', async () => {
  const node = createNode({ one: () => 1, two: () => 2 })
  const client = tollgateRpcClient(node, chain, { batch: true })
  const answers = await Promise.all([client.execute(request(11, 'one')), client.execute(request(22, 'two'))])
  expect(answers.map(({ id, result }) => [id, result as number])).toEqual([
    [11, 1],
    [22, 2],
  ])
  expect(node.sent.length).toBe(1)
})

test('an error of the node has the text of CosmJS’s own clients', async () => {
  const error = { code: -32603, message: 'Internal error', data: 'tx not found' }
  const node = createNode({
    tx: () => {
      throw new NodeFailure(error)
    },
  })
  await expect(tollgateRpcClient(node, chain).execute(request(1, 'tx'))).rejects.toMatchObject({
    code: 'RPC_ERROR',
    message: JSON.stringify(error),
    details: error,
  })
})

test('a refused payment reaches the caller of StargateClient as itself, after one call', async () => {
  const refusal = limitReached()
  const send = jest.fn(() => Promise.reject(refusal))
  const client = StargateClient.create(Comet38Client.create(tollgateRpcClient({ send }, chain)))
  await expect(client.getHeight()).rejects.toBe(refusal)
  expect(send).toHaveBeenCalledTimes(1)
})
