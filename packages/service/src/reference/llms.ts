import { operationsOf, type OpenApiDocument } from './document'
import { operationAnchor } from './page'

export type Link = { name: string; path: string; note: string }

/** A summary of the service for language models (https://llmstxt.org), with one line for each operation. */
export function llmsText(document: OpenApiDocument, links: readonly Link[]): string {
  const { info, servers } = document
  const base = servers[0]?.url ?? ''
  const operations = operationsOf(document).map(
    ({ method, path, operation }) =>
      `- [${method.toUpperCase()} ${path}](${base}/docs${operationAnchor(operation.tags[0] ?? '', operation.operationId)}): ${operation.summary}${
        operation.security.length > 0 ? ` ${needsOf(document, operation.security)}.` : ''
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

/** An empty requirement says that the operation also works without credentials. */
function needsOf({ components }: OpenApiDocument, security: Record<string, string[]>[]): string {
  const alternatives = security.map((needed) =>
    Object.keys(needed)
      .map((name) => {
        const scheme = components.securitySchemes[name]
        return scheme?.type === 'apiKey' ? scheme.name : name
      })
      .join(' and '),
  )
  const named = alternatives.filter((alternative) => alternative !== '').join(' or ')
  return alternatives.includes('') ? `Takes ${named}, or no credentials` : `Needs ${named}`
}
