import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as facilitator from '../../../apps/facilitator/src/config'
import * as gateway from '../../../apps/gateway/src/config'

export type Service = 'gateway' | 'facilitator'
export const services: readonly Service[] = ['gateway', 'facilitator']

export type ServiceInput = { variables: Record<string, string>; files: Record<string, string> }

/** Reads the configuration as the service does. @throws Error with the service's start-up error */
export function startWith(service: Service, { variables, files }: ServiceInput): void {
  if (service === 'gateway') return void gateway.readConfiguration(variables)
  const path = variables['NETWORKS_FILE'] ?? ''
  const text = files[path]
  if (text === undefined) throw new Error(`no file is mounted at NETWORKS_FILE=${path}`)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-networks-'))
  try {
    const copy = join(folder, 'networks.yaml')
    writeFileSync(copy, text)
    facilitator.readConfiguration({ ...variables, NETWORKS_FILE: copy })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export function unusedVariables(service: Service, { variables, files }: ServiceInput): string[] {
  const { Environment } = { gateway, facilitator }[service]
  const inFiles = Object.values(files).flatMap((text) =>
    [...text.matchAll(/\benv:(\w+)/g)].map(([, name]) => name),
  )
  const taken = new Set([...Object.keys(Environment.shape), ...inFiles])
  return Object.keys(variables).filter((name) => !taken.has(name))
}

export function plausible(name: string): string {
  if (name.endsWith('DATABASE_URL'))
    return `postgresql://tollgate:${secretOf(name)}@postgres.example:5432/tollgate`
  if (name.endsWith('REDIS_URL')) return `rediss://:${secretOf(name)}@redis.example:6379/0`
  if (/_URLS?$/.test(name)) return 'https://node.example/key'
  if (name === 'PAY_TO') return '0x52908400098527886E0F7030069857D2E4169EE7'
  return secretOf(name)
}

const secretOf = (name: string) => createHash('sha256').update(name).digest('hex')
