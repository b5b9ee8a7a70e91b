export { isAlive, untilDead } from './liveness'
export { freePort, onFreePort } from './ports'
export {
  type Owner,
  type ProcessExit,
  type ProcessOptions,
  type RunningProcess,
  startProcess,
} from './process'
