import { endpointName } from './endpoint-name'

test.each([
  ['https://rpc.example/v2/0123456789abcdef0123456789abcdef?key=secret', 'rpc.example'],
  ['https://user:password@rpc.example:8545/', 'rpc.example:8545'],
  ['https://0f1e2d3c4b5a69788796a5b4c3d2e1f0.eth.rpc.example/', '[key].eth.rpc.example'],
  ['http://geth-0.geth.default.svc.cluster.local:8545', 'geth-0.geth.default.svc.cluster.local:8545'],
  ['https://ethereum-mainnet-archive-node.example', 'ethereum-mainnet-archive-node.example'],
  ['http://127.0.0.1:8545', '127.0.0.1:8545'],
  ['http://[::1]:8545', '[::1]:8545'],
])('%s is called %s', (url, name) => expect(endpointName(url)).toBe(name))
