import { build, type BuildOptions } from 'esbuild'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'

/** A server of one page with `script`, and of nothing else. */
export async function servePage(script: string, wantedPort: number) {
  const server = createServer((request, response) => {
    const isScript = request.url === '/bundle.js'
    response.setHeader('content-type', isScript ? 'text/javascript; charset=utf-8' : 'text/html')
    response.end(
      isScript
        ? script
        : '<!doctype html><link rel="icon" href="data:,"><script src="/bundle.js"></script><title>Test</title>',
    )
  })
  await new Promise<void>((resolve) => server.listen(wantedPort, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export async function bundle(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({
    ...options,
    bundle: true,
    write: false,
    platform: 'browser',
    target: 'es2022',
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}
