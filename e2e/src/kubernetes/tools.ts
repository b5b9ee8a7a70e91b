import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const KUBERNETES = '1.34.2'
const ETCD = 'v3.6.4'
const HELM = 'v3.19.0'
const PROMETHEUS_OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0'
const EXTERNAL_SECRETS = 'github.com/external-secrets/external-secrets@v0.20.4'

export type Tools = { etcd: string; apiServer: string; helm: string }

/** Builds what is missing in `folder` from Go modules: half an hour and 3 GB for the API server, on two cores. */
export async function buildTools(folder: string, say: (text: string) => void): Promise<Tools> {
  mkdirSync(folder, { recursive: true })
  const tools = {
    etcd: join(folder, 'etcd'),
    apiServer: join(folder, 'kube-apiserver'),
    helm: join(folder, 'helm'),
  }
  if (!existsSync(tools.etcd) || !existsSync(tools.apiServer)) {
    say(`building kube-apiserver ${KUBERNETES} and etcd ${ETCD}`)
    await buildServers(folder)
  }
  if (!existsSync(tools.helm)) {
    say(`building helm ${HELM}`)
    await go(['install', `helm.sh/helm/v3/cmd/helm@${HELM}`], { GOBIN: folder })
  }
  return tools
}

/** The schemas of the custom resources, as their projects publish them. */
export async function customResourceDefinitions(): Promise<string[]> {
  const files = [
    [PROMETHEUS_OPERATOR, 'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml'],
    [PROMETHEUS_OPERATOR, 'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml'],
    [EXTERNAL_SECRETS, 'config/crds/bases/external-secrets.io_externalsecrets.yaml'],
  ] as const
  return Promise.all(files.map(async ([module, file]) => join((await download(module))['Dir'] ?? '', file)))
}

async function buildServers(folder: string) {
  const module = mkdtempSync(join(tmpdir(), 'tollgate-kube-apiserver-'))
  try {
    const { GoMod = '' } = await download(`k8s.io/kubernetes@v${KUBERNETES}`)
    // The module replaces its parts by folders of its repository; their published versions are the same code.
    const parts = [...readFileSync(GoMod, 'utf8').matchAll(/^\s(\S+) => \.\/staging/gm)].map(
      ([, name = '']) => `\t${name} => ${name} v${KUBERNETES.replace(/^1/, '0')}`,
    )
    const lines = [
      ...['module apiserver', 'go 1.24.0', 'godebug default=go1.24'],
      ...[`require k8s.io/kubernetes v${KUBERNETES}`, `require go.etcd.io/etcd/server/v3 ${ETCD}`],
      ...['replace (', ...parts, ')', ''],
    ]
    writeFileSync(join(module, 'go.mod'), lines.join('\n'))
    for (const [name, source] of Object.entries(PROGRAMS)) {
      mkdirSync(join(module, name))
      writeFileSync(join(module, name, 'main.go'), source)
    }
    const version = 'k8s.io/component-base/version'
    const [major, minor] = KUBERNETES.split('.')
    const stamps = { gitVersion: `v${KUBERNETES}`, gitMajor: major, gitMinor: minor }
    const flags = Object.entries(stamps).map(([name, value]) => `-X ${version}.${name}=${value}`)
    await go(['mod', 'tidy'], {}, module)
    const packages = Object.keys(PROGRAMS).map((name) => `./${name}`)
    await go(['build', '-ldflags', `-s -w ${flags.join(' ')}`, '-o', `${folder}/`, ...packages], {}, module)
  } finally {
    rmSync(module, { recursive: true })
  }
}

const PROGRAMS: Readonly<Record<string, string>> = {
  'kube-apiserver': `package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
`,
  etcd: `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`,
}

async function download(module: string): Promise<Partial<Record<string, string>>> {
  const { stdout } = await go(['mod', 'download', '-json', module])
  return JSON.parse(stdout) as Partial<Record<string, string>>
}

const BUILD_HOURS = 3
const go = (args: string[], variables: NodeJS.ProcessEnv = {}, cwd = tmpdir()) =>
  run('go', args, {
    cwd,
    env: { ...process.env, GOFLAGS: '-mod=mod -buildvcs=false -p=2', ...variables },
    timeout: BUILD_HOURS * 3_600_000,
    maxBuffer: 64 * 2 ** 20,
  })
