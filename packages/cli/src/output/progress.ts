import { type OutputStream } from '../terminal'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const REDRAW_MS = 100
const CLEAR_LINE = '\r\u001B[K'

export type Progress = ReturnType<typeof createProgress>

/** A line with the seconds that have passed, on a terminal. */
export function createProgress(stream: OutputStream, label: string) {
  const startedAt = Date.now()
  let frame = 0
  let timer: NodeJS.Timeout | undefined
  function draw(): void {
    const seconds = Math.floor((Date.now() - startedAt) / 1000)
    const mark = FRAMES[frame++ % FRAMES.length]
    stream.write(`${CLEAR_LINE}${mark} ${label}${seconds > 0 ? ` ${seconds} s` : ''}`)
  }
  return {
    start(): void {
      if (!stream.isTTY || timer) return
      draw()
      timer = setInterval(draw, REDRAW_MS)
      timer.unref()
    },
    stop(): void {
      if (!timer) return
      clearInterval(timer)
      timer = undefined
      stream.write(CLEAR_LINE)
    },
  }
}
