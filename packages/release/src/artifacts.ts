import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { billOfMaterials, type Integrities } from './bill-of-materials'
import { installedPackages, type InstalledPackage } from './installed-packages'
import { refusedLicenses } from './licenses'

/** What a release distributes: its name and the packages it consists of, itself first. */
export type Artifact = { name: string; packages: readonly [InstalledPackage, ...InstalledPackage[]] }

/** An image, by the folder of its service: what is installed, and what the bundle of its pages contains. */
export function imageArtifact(service: string, app: string): Artifact {
  const [subject, ...installed] = needed(installedPackages(app), app)
  const file = join(app, 'node_modules/@tollgate/console/dist', service, 'licenses.json')
  const bundled = JSON.parse(readFileSync(file, 'utf8')) as {
    name: string
    version: string
    identifier: string
  }[]
  const inPages = bundled.map(({ name, version, identifier }) => ({
    name,
    version,
    license: identifier,
    folder: file,
  }))
  return { name: `${service}-image`, packages: [subject, ...installed, ...inPages] }
}

/** A package of the registry. */
export const packageArtifact = (name: string, folder: string): Artifact => ({
  name: `${name}-package`,
  packages: needed(installedPackages(folder), folder),
})

function needed(packages: InstalledPackage[], folder: string): Artifact['packages'] {
  const [subject, ...others] = packages
  if (!subject) throw new Error(`there is no package in ${folder}`)
  return [subject, ...others]
}

/** @returns file names and texts; @throws if a license is not allowed */
export async function billsOfMaterials(
  artifacts: readonly Artifact[],
  lockFile: string,
): Promise<ReadonlyMap<string, string>> {
  const problems = artifacts.flatMap(({ name, packages }) =>
    refusedLicenses(packages).map((problem) => `${name}: ${problem}`),
  )
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const integrities = integritiesIn(readFileSync(lockFile, 'utf8'))
  const texts = artifacts.map(
    async ({ name, packages }) => [`${name}.cdx.json`, await billOfMaterials(packages, integrities)] as const,
  )
  return new Map(await Promise.all(texts))
}

export function integritiesIn(lockFile: string): Integrities {
  const { packages } = parse(lockFile) as {
    packages: Record<string, { resolution?: { integrity?: string } }>
  }
  return new Map(
    Object.entries(packages).flatMap(([key, { resolution }]) =>
      resolution?.integrity ? [[key, resolution.integrity]] : [],
    ),
  )
}
