import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Debian's libnginx-mod-stream puts it there. */
const STREAM_MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so'

/** The line of a configuration that loads nginx's stream module, empty if it is built in. Undefined without nginx or the module. */
export function loadStreamModule(): string | undefined {
  const { error, stderr } = spawnSync('nginx', ['-V'], { encoding: 'utf8' })
  if (error) return undefined
  if (existsSync(STREAM_MODULE)) return `load_module ${STREAM_MODULE};\n`
  return /--with-stream(?!=dynamic)\b/.test(stderr) ? '' : undefined
}
