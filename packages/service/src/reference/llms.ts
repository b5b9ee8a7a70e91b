import { operationsOf, type OpenApiDocument } from './document'

/** Another document of the service, below its address. */
export type Link = { name: string; path: string; note: string }

/** The service in a text for language models (https://llmstxt.org): what it is, how to use it, every operation in a line. */
export function llmsText(document: OpenApiDocument, links: readonly Link[]): string {
  const { info, servers } = document
  const base = servers[0]?.url ?? ''
  const operations = operationsOf(document).map(
    ({ method, path, operation }) =>
      `- [${method.toUpperCase()} ${path}](${base}/docs#${operation.operationId}): ${operation.summary}${
        operation.security ? ` Needs ${needsOf(document, operation.security)}.` : ''
      }`,
  )
  const list = links.map(({ name, path, note }) => `- [${name}](${base}${path}): ${note}`)
  return [
    `# ${info.title}`,
    `> ${info.summary}`,
    info.description,
    `Base URL: ${base}`,
    '## Documents',
    list.join('\n'),
    '## Endpoints',
    operations.join('\n'),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

/** What a caller proves itself with: the names of the schemes, of keys those of their headers. */
const needsOf = ({ components }: OpenApiDocument, security: Record<string, string[]>[]) =>
  security
    .map((needed) =>
      Object.keys(needed)
        .map((name) => {
          const scheme = components.securitySchemes[name]
          return scheme?.type === 'apiKey' ? scheme.name : name
        })
        .join(' and '),
    )
    .join(' or ')
