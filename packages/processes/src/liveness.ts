import { setTimeout as delay } from 'node:timers/promises'

export function isAlive(pid: number) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Polls, for at most ten seconds: a process that is not our child reports no exit. */
export async function untilDead(pid: number) {
  for (let i = 0; isAlive(pid); i++) {
    if (i === 200) throw new Error(`Process ${pid} is still running`)
    await delay(50)
  }
}
