import { Enums, Models, Serialize, Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { PackageURL } from 'packageurl-js'
import { type InstalledPackage } from './installed-packages'

/** The `integrity` of each package of the lock file, by `name@version`. */
export type Integrities = ReadonlyMap<string, string>

/**
 * What `packages` consist of, as CycloneDX 1.6 in JSON: the first is the subject, the others its components, with license, package
 * URL and the checksum of the registry. The same input makes the same text: it has no serial number and no time.
 *
 * @throws if the document does not match the schema of CycloneDX
 */
export async function billOfMaterials(
  packages: readonly [InstalledPackage, ...InstalledPackage[]],
  integrities: Integrities,
): Promise<string> {
  const [subject, ...components] = packages
  const bom = new Models.Bom({
    metadata: new Models.Metadata({ component: componentOf(subject, integrities) }),
    components: new Models.ComponentRepository(components.map((one) => componentOf(one, integrities))),
  })
  const factory = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6)
  const text = new Serialize.JsonSerializer(factory).serialize(bom, { sortLists: true, space: 2 })
  const problem: unknown = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)
  if (problem !== null) throw new Error(`not a CycloneDX document: ${JSON.stringify(problem)}`)
  return `${text}\n`
}

function componentOf({ name, version, license }: InstalledPackage, integrities: Integrities) {
  const [group, short] = name.startsWith('@') ? (name.split('/') as [string, string]) : [undefined, name]
  const purl = new PackageURL('npm', group, short, version, undefined, undefined)
  const integrity = /^sha512-(.+)$/.exec(integrities.get(`${name}@${version}`) ?? '')?.[1]
  return new Models.Component(Enums.ComponentType.Library, short, {
    ...(group !== undefined && { group }),
    version,
    purl: purl.toString(),
    bomRef: purl.toString(),
    licenses: new Models.LicenseRepository([new Models.LicenseExpression(license)]),
    ...(integrity !== undefined && {
      hashes: new Models.HashDictionary([
        [Enums.HashAlgorithm['SHA-512'], Buffer.from(integrity, 'base64').toString('hex')],
      ]),
    }),
  })
}
