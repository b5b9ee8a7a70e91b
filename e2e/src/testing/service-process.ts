import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { follow } from './program'

export const services = ['gateway', 'facilitator'] as const
export type Service = (typeof services)[number]

/** At least 32 bytes. */
export const SECRET = 'a-secret-of-this-test-run-and-of-no-other'

/** Starts single services as processes, without a chain, and without each other. */
export function serviceProcesses() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-service-'))
  const running: (() => unknown)[] = []

  return {
    folder,
    /** `stopAll` runs what is given here, the latest first. */
    stopLater: (stop: () => unknown) => void running.push(stop),

    start(service: Service, variables: Record<string, string>) {
      const main = join(__dirname, '../../../apps', service, 'dist/main.js')
      const { PATH } = process.env
      const env = { PATH, PORT: '0', METRICS_PORT: '0', ...variables }
      const child = spawn(process.execPath, [main], { env })
      running.push(() => child.kill('SIGKILL'))
      return follow(child)
    },

    /** The variables without which it does not start. */
    environmentOf(service: Service, databaseUrl: string): Record<string, string> {
      const shared = { DATABASE_URL: databaseUrl, JWT_SECRET: SECRET }
      if (service === 'gateway')
        return {
          ...shared,
          PUBLIC_URL: 'https://gateway.example',
          SIGN_IN_DOMAINS: 'Tollgate',
          FACILITATOR_URL: 'http://127.0.0.1:1/api/v1',
          FACILITATOR_CLIENT_ID: 'client',
          FACILITATOR_CLIENT_TOKEN: SECRET,
        }
      const NETWORKS_FILE = join(folder, 'networks.yaml')
      const network = {
        name: 'base-sepolia',
        ecosystem: 'evm',
        chain_id: '84532',
        rpc_urls: ['http://127.0.0.1:1'],
        max_fees_per_day: '50000000000000000',
      }
      writeFileSync(NETWORKS_FILE, JSON.stringify([{ ...network, signer_keys: ['11'.repeat(32)] }]))
      return { ...shared, NETWORKS_FILE }
    },

    async stopAll() {
      for (const stop of running.splice(0).reverse()) await stop()
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
