import { createHash } from 'node:crypto'
import { type OpenApiDocument } from './document'
import { viewerPath } from './viewer'

/** `validatorUrl: null` stops Swagger UI from sending the address of the document to a public validator. */
const initializer =
  "SwaggerUIBundle({url:'openapi.json',dom_id:'#reference',deepLinking:true,validatorUrl:null})"

export const pagePolicy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(initializer).digest('base64')}'`,
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';')

export const referencePage = ({ info }: OpenApiDocument): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width,initial-scale=1" />
    <title>${escapeHtml(info.title)}: API reference</title>
    <meta name="description" content="${escapeHtml(info.summary)}" />
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${viewerPath('swagger-ui.css')}" />
  </head>
  <body>
    <noscript>This page needs JavaScript. Without it, read <a href="openapi.json">openapi.json</a> or <a href="llms.txt">llms.txt</a>.</noscript>
    <main id="reference"></main>
    <script src="${viewerPath('swagger-ui-bundle.js')}"></script>
    <script>${initializer}</script>
  </body>
</html>
`

export const operationAnchor = (tag: string, operationId: string) =>
  `#/${encodeURIComponent(tag)}/${encodeURIComponent(operationId)}`

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
