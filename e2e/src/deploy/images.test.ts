import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE_NODE_OPTIONS } from '@tollgate/devnet'
import { validate } from 'dockerfile-utils'
import { parse } from 'yaml'
import { contentOf, dockerfileOf, imageOf } from './image'
import { base, render, root, workloadsOf, containersOf } from './kustomize'
import { services } from './settings'

/** A tag and its digest. */
const pinned = /^[a-z0-9/.-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}$/

describe.each(services)('docker/%s.Dockerfile', (service) => {
  const image = imageOf(service)

  test('starts from images pinned by digest, with a pinned Dockerfile syntax', () => {
    const text = dockerfileOf(service)
    const base = /^ARG NODE_IMAGE=(.*)$/m.exec(text)?.[1]
    const stages = image.instructions
      .filter((instruction) => instruction.getKeyword() === 'FROM')
      .map((instruction) => contentOf(instruction).split(' '))
    const names = stages.flatMap(([, , name = '']) => name)
    const bases = stages.flatMap(([from = '']) => (names.includes(from) ? [] : [from]))
    expect(new Set(bases)).toEqual(new Set(['${NODE_IMAGE}']))
    expect(base).toMatch(pinned)
    expect(/^# syntax=(.*)$/m.exec(text)?.[1]).toMatch(pinned)
  })

  test('passes the linter', () => {
    expect(validate(dockerfileOf(service))).toEqual([])
  })

  test("uses the versions of the repository's build", () => {
    const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      packageManager: string
    }
    const workspace = parse(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) as {
      catalog: { turbo: string }
    }
    const tools = image.instructions.map(contentOf).filter((content) => content.includes('install --global'))
    expect(tools).toEqual([`npm install --global ${packageManager} turbo@${workspace.catalog.turbo}`])
  })

  test('ends in a runtime image: a numeric user, and no shell between signals and the service', () => {
    expect(image.user).toEqual(['10001:10001'])
    expect(image.entrypoint).toEqual(['[]'])
    expect(image.command).toEqual(['["node", "dist/main.js"]'])
    expect(image.runs).toEqual([])
    expect(image.environment).toMatchObject({ NODE_ENV: 'production', NODE_OPTIONS: SERVICE_NODE_OPTIONS })
    expect(image.labels).toMatch(/image\.title=.*image\.licenses="Apache-2.0"/)
  })

  test("copies the migrations to the migrator's folder", () => {
    const folder = `prisma/${service}/migrations/`
    expect(existsSync(join(root, folder))).toBe(true)
    expect(image.copies.map(contentOf)).toContain(`${folder} ${folder}`)
    expect(image.environment['MIGRATIONS_DIR']).toBe(`/app/${folder.slice(0, -1)}`)
  })

  test('serves on the ports of the cluster and its health check', () => {
    const workload = workloadsOf(render(base)).find(
      ({ kind, metadata }) => `${kind} ${metadata.name}` === `Deployment ${service}`,
    )
    const ports = workload && containersOf(workload).flatMap((container) => container.ports ?? [])
    expect(image.exposes).toEqual([ports?.map(({ containerPort }) => containerPort).join(' ')])
    expect(image.healthcheck.join()).toContain(`(process.env.PORT || ${ports?.[0]?.containerPort})`)
  })

  test('has an executable health check', () => {
    const [, command = '[]'] = /CMD (\[.*\])$/.exec(image.healthcheck.join()) ?? []
    const [program = '', ...args] = JSON.parse(command) as string[]
    expect(program).toBe('node')
    // No process listens on this port, so the check must fail.
    const run = spawnSync(process.execPath, args, { env: { PORT: '1' }, encoding: 'utf8' })
    expect([run.status, run.stderr]).toEqual([1, ''])
  })
})

test('the build context contains every copied file, and no secrets or state', () => {
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')
  expect(lines.filter((line) => line && !line.startsWith('#'))[0]).toBe('*')
  const kept = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  const copied = services.flatMap((service) =>
    imageOf(service)
      .instructions.filter((instruction) => instruction.getKeyword() === 'COPY')
      .map(contentOf)
      .filter((content) => !content.startsWith('/') && content !== '. .')
      .map((content) => content.split(/[/ ]/)[0]),
  )
  expect(kept).toEqual(expect.arrayContaining([...new Set(copied)]))
  for (const secret of ['.env', '.git', '.tollgate', 'docker', 'k8s']) expect(kept).not.toContain(secret)
  expect(lines).toEqual(expect.arrayContaining(['**/.env*', '**/node_modules', '**/dist']))
})
