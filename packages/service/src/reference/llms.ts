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
        operation.security ? ` Needs ${Object.keys(operation.security[0] ?? {}).join(' and ')}.` : ''
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
