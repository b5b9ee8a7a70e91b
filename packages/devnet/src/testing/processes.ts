import { setTimeout as delay } from 'node:timers/promises'

export function isAlive(pid: number) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Of a process that is not our child nothing tells that it ended: asks until it has, for at most ten seconds. */
export async function untilDead(pid: number) {
  for (let i = 0; isAlive(pid); i++) {
    if (i === 200) throw new Error(`Process ${pid} still lives`)
    await delay(50)
  }
}
