import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '../../packages/processes/dist/index.js'
import { root } from '../../scripts/prepare.mjs'
import { requireFrom } from './borrowed.mjs'

const { request } = requireFrom('packages/chains')('undici')

export async function startEcho({ folder, closeLater }) {
  const logFile = join(folder, 'echo.log')
  const echo = await startProcess({
    name: 'echo',
    command: process.execPath,
    args: [join(root, 'bench/echo.mjs')],
    logFile,
    ready: /listening on \d+/,
  })
  closeLater(() => echo.stop())
  const url = `http://127.0.0.1:${/listening on (\d+)/.exec(readFileSync(logFile, 'utf8'))[1]}`
  return {
    url,
    path: '/',
    async cpuSeconds() {
      const { body } = await request(`${url}/cpu`)
      const { user, system } = await body.json()
      return (user + system) / 1e6
    },
  }
}
