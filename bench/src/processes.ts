import { readdirSync, readFileSync } from 'node:fs'

/** The kernel's unit of CPU times in /proc, on all of its architectures. */
const TICKS_PER_SECOND = 100

/**
 * CPU seconds, user and system, of all threads of a process, of its descendants, and of those that ended and were waited for.
 * The resolution is 10 ms.
 */
export function cpuSeconds(pid: number): number {
  const ticks = treeOf(pid).reduce((sum, { cpuTicks }) => sum + cpuTicks, 0)
  return ticks / TICKS_PER_SECOND
}

/** CPU seconds of the threads of one process that run, to the nanosecond, without its descendants. */
export const threadCpuSeconds = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + runNanoseconds(pid, thread), 0) / 1e9

/** 0 if the thread has ended. The kernel documents the file in sched-stats. */
function runNanoseconds(pid: number, thread: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  } catch {
    return 0
  }
}

/** Resident bytes of a process and its descendants. Memory that they share counts once for each. */
export const residentBytes = (pid: number): number =>
  treeOf(pid).reduce((sum, one) => sum + statusBytes(one.pid, 'VmRSS'), 0)

/** The largest resident size that the process itself has had. */
export const peakResidentBytes = (pid: number): number => statusBytes(pid, 'VmHWM')

/** The result of `work`, and the CPU seconds that each process, with its descendants, used meanwhile. */
export async function withCpuSeconds<Name extends string, Result>(
  pids: Readonly<Record<Name, number>>,
  work: () => Promise<Result>,
): Promise<{ result: Result; cpu: Record<Name, number> }> {
  const names = Object.keys(pids) as Name[]
  const before = names.map((name) => cpuSeconds(pids[name]))
  const result = await work()
  const used = names.map((name, index) => [name, cpuSeconds(pids[name]) - (before[index] ?? 0)] as const)
  return { result, cpu: Object.fromEntries(used) as Record<Name, number> }
}

type ProcessStat = { pid: number; parent: number; cpuTicks: number }

function treeOf(pid: number): ProcessStat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(name))
  const tree = all.filter((one) => one.pid === pid)
  if (tree.length === 0) throw new Error(`There is no process ${pid} in /proc`)
  // The list grows while it is read: it ends with the last descendants.
  for (const { pid: parent } of tree) tree.push(...all.filter((one) => one.parent === parent))
  return tree
}

/** Empty if the process has ended. */
function readStat(pid: string): ProcessStat[] {
  try {
    return [parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))]
  } catch {
    return []
  }
}

/** The second field is the program's name in parentheses, and may itself contain spaces and parentheses. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // Fields 14 to 17: utime, stime, cutime and cstime.
  const cpuTicks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { pid: Number.parseInt(text, 10), parent: Number(fields[1]), cpuTicks }
}

/** 0 if the process has ended. */
function statusBytes(pid: number, name: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}
