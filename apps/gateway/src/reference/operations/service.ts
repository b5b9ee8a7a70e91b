import { StatusAnswer } from '@tollgate/protocol'
import { serviceOperations, type Operation } from '@tollgate/service'
import { Discovery } from '../discovery'

const tag = 'Service'

const discovery = (id: string, path: string): Operation => ({
  id,
  method: 'get',
  path,
  tag,
  summary: 'Get the paid endpoint and its price, in the format of x402 clients.',
  answers: {
    200: { description: 'The paid endpoint and the active plans.', schema: Discovery },
  },
})

export const ownOperations: Operation[] = [
  ...serviceOperations(tag, { title: 'Tollgate gateway', health: StatusAnswer }),
  discovery('getDiscovery', '/.well-known/x402'),
  discovery('getDiscoveryFile', '/.well-known/x402.json'),
]
