import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type IDeployment } from 'kubernetes-models/apps/v1/Deployment'
import { type IConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { parseCatalog } from '../../../apps/gateway/src/catalog/catalog-file'
import { imageOf } from './image'
import { base, hasKubectl, type Manifest, render, renderByKubectl, root } from './kustomize'
import { withRecipients } from './recipients'
import { type ServiceInput, unusedVariables, plausible, type Service, services, startWith } from './settings'

const manifests = render(base)

/** The input of a pod: the image's environment, overridden by the manifests, with secrets filled in. */
function inputOf(service: Service, from: readonly Manifest[]): ServiceInput {
  const deployment = named(from, 'Deployment', service) as IDeployment
  const pod = deployment.spec?.template.spec
  const [container] = pod?.containers ?? []
  const dataOf = (name: string | undefined) => (named(from, 'ConfigMap', name ?? '') as IConfigMap).data ?? {}
  const secrets = (container?.env ?? []).map(({ name }) => [name, plausible(name)] as const)
  const mounted = (container?.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const volume = pod?.volumes?.find((candidate) => candidate.name === name)
    // The keys of providers are in the volume of a Secret, which the manifests only name.
    const files = volume?.secret ? [] : Object.entries(dataOf(volume?.configMap?.name))
    return files.map(([file, text]) => [join(mountPath, file), text] as const)
  })
  const inNetworks = mounted.flatMap(([, text]) => [...text.matchAll(/: env:(\w+)/g)])
  const ofSecret = Object.fromEntries(inNetworks.map(([, name = '']) => [name, plausible(name)]))
  return {
    variables: Object.assign(
      {},
      ...(container?.envFrom ?? []).map(({ configMapRef }) =>
        configMapRef ? dataOf(configMapRef.name) : ofSecret,
      ),
      Object.fromEntries(secrets),
    ) as Record<string, string>,
    files: Object.fromEntries(mounted),
  }
}

function named(from: readonly Manifest[], kind: string, name: string): object {
  const found = from.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)
  if (!found) throw new Error(`There is no ${kind} "${name}"`)
  return found
}

const withImage = (service: Service, { variables, files }: ServiceInput): ServiceInput => ({
  variables: { ...imageOf(service).environment, ...variables },
  files,
})

const renderings: [string, () => Manifest[]][] = [['k8s/base', () => manifests]]
if (hasKubectl)
  for (const overlay of ['k8s/overlays/example', 'k8s/overlays/production'])
    renderings.push([overlay, () => renderByKubectl(join(root, overlay))])

describe.each(renderings)('%s', (_, read) => {
  test.each(services)('sets what the %s needs, and its values are taken', (service) => {
    expect(() => startWith(service, withImage(service, inputOf(service, read())))).not.toThrow()
  })

  test.each(services)('sets nothing that the %s does not know', (service) => {
    expect(unusedVariables(service, inputOf(service, read()))).toEqual([])
  })
})

test('the networks of k8s/overlays/example are valid: an EVM network and a Cosmos network', () => {
  const text = readFileSync(join(root, 'k8s/overlays/example/networks.yaml'), 'utf8')
  const { variables, files } = withImage('facilitator', inputOf('facilitator', manifests))
  const path = variables['NETWORKS_FILE'] ?? ''
  const named = [...text.matchAll(/\benv:(\w+)/g)].map(([, name = '']) => [name, plausible(name)] as const)
  const input = {
    variables: { ...variables, ...Object.fromEntries(named) },
    files: { ...files, [path]: text },
  }
  expect(() => startWith('facilitator', input)).not.toThrow()
  expect(named.map(([name]) => name)).toContain('COSMOSHUB_RPC_URLS')
  const { COSMOSHUB_SIGNER_KEY, ...others } = input.variables as Record<string, string>
  expect(COSMOSHUB_SIGNER_KEY).toBeDefined()
  expect(() => startWith('facilitator', { ...input, variables: others })).toThrow(/COSMOSHUB_SIGNER_KEY/)
})

test('a missing setting is detected', () => {
  const { variables, files } = withImage('gateway', inputOf('gateway', manifests))
  const { PUBLIC_URL, ...others } = variables
  expect(PUBLIC_URL).toBeDefined()
  expect(() => startWith('gateway', { variables: others, files })).toThrow(/PUBLIC_URL: not set/)
})

test.each(['k8s/base/migrations', 'k8s/overlays/example', 'k8s/overlays/production', 'k8s/networks'])(
  'the catalog of %s lacks only the payment recipient, and sells nothing until it is set',
  (folder) => {
    const text = readFileSync(join(root, folder, 'catalog.yaml'), 'utf8')
    expect(() => parseCatalog(text)).toThrow(/plans\.0\.pay_to: must be an address/)
    const { plans, providers } = parseCatalog(withRecipients(text))
    expect([plans[0], providers[0]]).toMatchObject([{ id: 1 }, { category: 'evm' }])
  },
)
