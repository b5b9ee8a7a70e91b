import { createConfig, lintFromString } from '@redocly/openapi-core'

/** The errors that Redocly's recommended rules find in an OpenAPI document, one line for each. */
export async function lintErrors(document: object): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  return problems
    .filter(({ severity }) => severity === 'error')
    .map(({ ruleId, message, location: [place] }) => `${ruleId} at ${place?.pointer ?? '#/'}: ${message}`)
}
