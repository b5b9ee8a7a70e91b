import { type CatalogFile } from '../catalog-file'
import { obviousKeysIn } from './obvious-key'
import { readSecret } from './read-secret'
import { referencesOf, resolveAccess } from './resolve-access'

type CatalogProvider = CatalogFile['providers'][number]

const named = ({ provider_id, category, chain_id }: CatalogProvider) =>
  `provider ${JSON.stringify(provider_id)} (${category}, ${chain_id})`

/** Why active providers would be skipped by a gateway with these variables and files: a line for each. */
export async function findMissingSecrets(
  { providers }: CatalogFile,
  variables: Readonly<NodeJS.ProcessEnv>,
  { isProduction = false } = {},
): Promise<string[]> {
  const lines: string[] = []
  for (const provider of providers.filter(({ active }) => active)) {
    const values = new Map<string, string>()
    const problems: string[] = []
    for (const reference of referencesOf(provider)) {
      const read = await readSecret(reference, variables)
      if ('value' in read) values.set(reference, read.value)
      else problems.push(read.problem)
    }
    if (problems.length === 0) {
      const resolved = resolveAccess(provider, (reference) => values.get(reference) ?? '', { isProduction })
      if ('problem' in resolved) problems.push(resolved.problem)
    }
    lines.push(...problems.map((problem) => `${named(provider)}: ${problem}`))
  }
  return lines
}

/** A line for each URL that seems to have a key in it, without the key. */
export const findOpenKeys = ({ providers }: CatalogFile): string[] =>
  providers.flatMap((provider) =>
    (['rpc', 'rest'] as const).flatMap((transport) =>
      provider[transport].flatMap((url, index) =>
        obviousKeysIn(url).length === 0
          ? []
          : [
              `${named(provider)}: ${transport}.${index} seems to hold a key, which the database then stores; write \${env:NAME} or \${file:/path} in its place`,
            ],
      ),
    ),
  )
