import { isPlainHttpToPublicHost } from './plain-http'

test.each([
  'http://node.example/key',
  'http://8.8.8.8:8545',
  'http://[2606:4700::1111]/',
  'http://localhost.example',
  'http://svc.example',
  'http://erigon.nodes',
  'http://localsvc.com.',
  'HTTP://NODE.EXAMPLE',
  'http://10.0.0.1.example',
  'http://134744072',
  'http://[::ffff:8.8.8.8]',
  'http://[64:ff9b::808:808]',
])('%s is plain HTTP to a public host', (url) => expect(isPlainHttpToPublicHost(url)).toBe(true))

test.each([
  'https://node.example/key',
  'http://127.0.0.1:8545',
  'http://[::1]:8545',
  'http://10.1.2.3',
  'http://192.168.1.2',
  'http://100.64.0.7',
  'http://[fd00::1]',
  'http://[::ffff:10.0.0.5]',
  'http://localhost:8545',
  'http://facilitator:8081/api/v1',
  'http://erigon.nodes.svc:8545',
  'http://erigon.nodes.svc.cluster.local.:8545',
  'http://node.internal',
  'http://node.local',
  'no url',
])('%s is not', (url) => expect(isPlainHttpToPublicHost(url)).toBe(false))
