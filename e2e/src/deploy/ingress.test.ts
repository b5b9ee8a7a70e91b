import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type IIngress } from 'kubernetes-models/networking.k8s.io/v1/Ingress'
import { type IConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { type Manifest, root } from './kustomize'
import { renderings } from './renderings'

/** The facilitator's routes, as the source has them. */
const pathsOfFacilitator = [
  '/',
  '/console',
  '/console/assets/index.js',
  ...readFileSync(join(root, 'apps/facilitator/src/app.ts'), 'utf8').matchAll(
    /^ +(app|api|apiV2|admin)\.(?:get|post|put|patch|delete)\(\s*'([^']+)'/gm,
  ),
].flatMap((route) => {
  if (typeof route === 'string') return [route]
  const [, router = '', path = ''] = route
  const bases: Record<string, string[]> = {
    api: ['/api/v1'],
    apiV2: ['/api/v2'],
    admin: ['/admin', '/api/v1/admin'],
  }
  return (bases[router] ?? ['']).map((base) => base + path)
})

describe.each(renderings)('%s', (_, read) => {
  let manifests: Manifest[]
  const ofKind = <T>(kind: string) =>
    manifests.filter((manifest) => manifest.kind === kind) as (Manifest & T)[]
  beforeAll(() => (manifests = read()))

  test('with an ingress, both services take the address of a client from it', () => {
    const ingresses = ofKind<IIngress>('Ingress')
    const configs = ofKind<IConfigMap>('ConfigMap').filter(({ metadata: { name } }) =>
      /^(gateway|facilitator)-config\b/.test(name),
    )
    expect(configs).toHaveLength(2)
    for (const { data } of configs)
      expect(data?.['TRUSTED_PROXIES']).toBe(ingresses.length === 0 ? undefined : '1')
  })

  test('the ingress serves each path of the API, and none of the operator’s in any spelling', () => {
    const isOperators = (path: string) => /(^|\/)admin(\/|$)/.test(path)
    for (const { spec } of ofKind<IIngress>('Ingress')) {
      const rules = (spec?.rules ?? []).flatMap(({ http }) => http?.paths ?? [])
      const open = rules.filter(({ backend }) => backend.service?.name === 'facilitator')
      const isServed = (path: string) =>
        open.some(({ path: rule = '', pathType }) =>
          pathType === 'Exact' ? path === rule : `${path}/`.startsWith(`${rule.replace(/\/$/, '')}/`),
        )
      expect(pathsOfFacilitator.filter((path) => !isServed(path))).toEqual(
        pathsOfFacilitator.filter(isOperators),
      )
      for (const path of [
        '/admin',
        '/ADMIN/users',
        '/%61dmin',
        '/api/v1/admin',
        '/api/v1/%61dmin',
        '/API/v1/Admin',
      ])
        expect([path, isServed(path)]).toEqual([path, false])
      // A regular expression or a longer rule of another type would be read differently by each controller.
      for (const { path, pathType } of open) {
        expect(path).toMatch(/^[\w./-]+$/)
        expect(pathType).toBe(path === '/' ? 'Exact' : 'Prefix')
        expect('/api/v1/admin'.startsWith(`${path}/`)).toBe(false)
      }
    }
  })

  test('the ingress serves every host by TLS', () => {
    for (const { spec } of ofKind<IIngress>('Ingress')) {
      const secured = (spec?.tls ?? []).flatMap(({ hosts = [] }) => hosts)
      expect((spec?.rules ?? []).map(({ host }) => host).sort()).toEqual(secured.sort())
    }
  })
})
