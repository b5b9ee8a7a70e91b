import { createHash } from 'node:crypto'
import { answer, answerAnchor, article, headerAnchor } from './article'
import { nameIn, operationsOf, type DescribedOperation, type OpenApiDocument } from './document'
import { anchorOf, fieldsOf, limitsOf, typeOf } from './fields'
import { html, joined, type Html } from './html'
import { inline, prose } from './prose'
import { style } from './style'

/** What the page may load: its own style and nothing else. */
export const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';')

/** The document as one page of HTML without scripts, that loads nothing and reads well on a phone and aloud. */
export function referencePage(document: OpenApiDocument): string {
  const { info, servers, tags, components } = document
  const operations = operationsOf(document)
  const groups = tags.map((tag) => ({
    ...tag,
    operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <title>${info.title}: API reference</title>
        <meta name="description" content="${info.summary}" />
        ${styleElement}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the operations</a>
        <div class="layout">
          <header class="top">
            <h1>${info.title}</h1>
            <p class="quiet">
              API reference, version ${info.version}. Base URL: <code>${servers[0]?.url ?? ''}</code>
            </p>
            <p>${inline(info.summary)}</p>
            ${prose(info.description)}
            <p>
              For programs: <a href="openapi.json">OpenAPI 3.1 document</a>, <a href="llms.txt">llms.txt</a>.
            </p>
          </header>
          <div class="columns">
            <nav aria-labelledby="contents">
              <h2 id="contents">Contents</h2>
              ${groups.map(
                ({ name, operations: listed }) =>
                  html`<h3>${name}</h3>
                    <ul>
                      ${listed.map(
                        ({ method, path, operation }) =>
                          html`<li>
                            <a href="#${operation.operationId}"
                              ><span class="method">${method.toUpperCase()}</span> ${path}</a
                            >
                          </li>`,
                      )}
                    </ul> `,
              )}
              <h3>Shapes</h3>
              <ul>
                ${Object.keys(components.schemas).map((name) => html`<li><a href="#${anchorOf(name)}">${name}</a></li>`)}
                <li><a href="#answers">Answers to any request</a></li>
                <li><a href="#headers">Headers of answers</a></li>
              </ul>
            </nav>
            <main id="content">
              ${groups.map(
                ({ name, description, operations: listed }) =>
                  html`<section aria-labelledby="${tagAnchor(name)}">
                    <h2 id="${tagAnchor(name)}">${name}</h2>
                    <p>${inline(description)}</p>
                    ${listed.map((described) => article(document, described))}
                  </section> `,
              )}
              <section aria-labelledby="shapes">
                <h2 id="shapes">Shapes</h2>
                <p>What several operations share.</p>
                ${Object.entries(components.schemas).map(
                  ([name, schema]) =>
                    html`<article aria-labelledby="${anchorOf(name)}">
                      <h3 id="${anchorOf(name)}">${name}</h3>
                      ${schema.description === undefined ? '' : html`<p>${inline(schema.description)}</p>`}
                      ${
                        schema.properties
                          ? fieldsOf(schema)
                          : html`<p class="limits">${joined([typeOf(schema), ...limitsOf(schema)], '; ')}</p>`
                      }
                    </article> `,
                )}
                <article aria-labelledby="answers">
                  <h3 id="answers">Answers to any request</h3>
                  <dl>
                    ${Object.entries(components.responses).map(([name, response]) =>
                      answer(statusAnswering(operations, name), response, answerAnchor(name)),
                    )}
                  </dl>
                </article>
                <article aria-labelledby="headers">
                  <h3 id="headers">Headers of answers</h3>
                  <dl>
                    ${Object.entries(components.headers).map(
                      ([name, { description, schema }]) =>
                        html`<div class="field" id="${headerAnchor(name)}">
                          <dt>
                            <code class="name">${name}</code> <span class="type">${typeOf(schema)}</span>
                          </dt>
                          <dd><p>${inline(description)}</p></dd>
                        </div>`,
                    )}
                  </dl>
                </article>
              </section>
            </main>
          </div>
          <footer>${info.title} ${info.version}</footer>
        </div>
      </body>
    </html> `.text
}

/** The one text that is put in as it is: it is ours, and its hash is in {@link pagePolicy}. */
const styleElement = { text: `<style>${style}</style>` } as Html

/** The status that a shared answer has wherever it is referred to. */
const statusAnswering = (operations: DescribedOperation[], name: string): string =>
  operations
    .flatMap(({ operation }) => Object.entries(operation.responses))
    .find(([, response]) => '$ref' in response && nameIn(response.$ref) === name)?.[0] ?? name

const tagAnchor = (name: string) => `tag-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`
