import { curlOf } from './curl'
import {
  nameIn,
  type DescribedOperation,
  type MediaTypeObject,
  type OpenApiDocument,
  type OperationObject,
  type Reference,
  type ResponseObject,
} from './document'
import { field, fieldsOf, typeOf } from './fields'
import { html, joined, type Html } from './html'
import { inline, prose } from './prose'

/** The id of a shared answer's place on the page. */
export const answerAnchor = (name: string) => `answer-${name}`

/** The id of a header's place on the page. */
export const headerAnchor = (name: string) => `header-${name.toLowerCase()}`

/** One operation: what it takes, what it answers, and how to ask it. */
export function article(document: OpenApiDocument, described: DescribedOperation): Html {
  const { method, path, operation } = described
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation
  const body = requestBody?.content['application/json']
  return html`<article aria-labelledby="${operationId}">
    <h3 id="${operationId}">
      <span class="method">${method.toUpperCase()}</span> <code class="path">${path}</code>
    </h3>
    <p class="summary">${inline(summary)}</p>
    ${description === undefined ? '' : prose(description)}
    <p><span class="quiet">Authentication:</span> ${authOf(document, operation)}</p>
    ${
      parameters.length === 0
        ? ''
        : html`<h4>Parameters</h4>
            <dl>
              ${parameters.map(({ name, in: place, required, description: meaning, schema }) =>
                field({ name, required, description: meaning, place }, schema),
              )}
            </dl> `
    }${
      body === undefined
        ? ''
        : html`<h4>Request body</h4>
            ${bodyOf(document, body)} `
    }
    <h4>Answers</h4>
    <dl>
      ${Object.entries(responses).map(([status, response]) => ('$ref' in response ? '' : answer(status, response)))}
    </dl>
    ${sharedAnswers(responses)}
    <h4>Example</h4>
    ${block(`Example request of ${operationId}`, curlOf(document, described))}
    ${Object.values(body?.examples ?? {})
      .slice(1)
      .map(
        ({ value }) =>
          html`<p class="quiet">Or with this body:</p>
            ${block(`Another body of ${operationId}`, JSON.stringify(value, null, 2))}`,
      )}
  </article> `
}

function authOf({ components }: OpenApiDocument, { security = [] }: OperationObject): Html {
  if (security.length === 0) return html`none`
  return joined(
    security.map((needed) =>
      joined(
        Object.keys(needed).map((name) => inline(components.securitySchemes[name]?.description ?? name)),
        ' and ',
      ),
    ),
    ' or ',
  )
}

/** A body's shape: the members of the object it is, or its type. */
function bodyOf({ components }: OpenApiDocument, { schema }: MediaTypeObject): Html {
  const shared = schema.$ref === undefined ? undefined : components.schemas[nameIn(schema.$ref)]
  const object = shared ?? schema
  return html`${schema.$ref === undefined ? '' : html`<p>${typeOf(schema)}${shared?.description === undefined ? '' : html`: ${inline(shared.description)}`}</p>`}${
    object.properties ? fieldsOf(object) : html`<p>${typeOf(schema)}</p>`
  }`
}

/** One answer of an operation, or one that several share, for a list of definitions. */
export function answer(status: string, response: ResponseObject, id?: string): Html {
  const { description, headers = {}, content = {} } = response
  const [contentType, media] = Object.entries(content)[0] ?? []
  const codes = media?.schema.allOf?.flatMap(({ properties }) => properties?.['code']?.oneOf ?? [])
  return html`<div class="field" ${id === undefined ? '' : html` id="${id}"`}>
    <dt>
      <span class="status">${status === 'default' ? 'Any other' : status}</span>
      <span class="type">${contentType ?? 'no body'}</span>
    </dt>
    <dd>
      ${
        codes
          ? html`<ul class="codes">
              ${codes.map(
                ({ const: code, description: meaning }) =>
                  html`<li><code>${String(code)}</code>: ${inline(meaning ?? '')}</li>`,
              )}
            </ul>`
          : html`${prose(description)}${media === undefined ? '' : shapeOf(media)}`
      }${headersOf(headers)}${codes || media === undefined ? '' : exampleOf(status, media)}
    </dd>
  </div>`
}

function sharedAnswers(responses: OperationObject['responses']): Html {
  const statuses = Object.entries(responses).filter(([, response]) => '$ref' in response)
  if (statuses.length === 0) return html``
  return html`<p class="limits">
    As to any request:
    ${joined(
      statuses.map(
        ([status, response]) =>
          html`<a href="#${answerAnchor(nameIn((response as Reference).$ref))}">${status}</a>`,
      ),
      ', ',
    )}.
  </p>`
}

/** Said once, where the headers are described. */
const inEveryAnswer = 'X-Request-Id'

const shapeOf = ({ schema }: MediaTypeObject): Html =>
  schema.properties ? fieldsOf(schema) : html`<p>Body: ${typeOf(schema)}</p>`

function headersOf(headers: Record<string, unknown>): Html {
  const names = Object.keys(headers).filter((name) => name !== inEveryAnswer)
  if (names.length === 0) return html``
  return html`<p class="limits">
    Headers:
    ${joined(
      names.map((name) => html`<a href="#${headerAnchor(name)}">${name}</a>`),
      ', ',
    )}
  </p>`
}

function exampleOf(status: string, { examples = {} }: MediaTypeObject): Html {
  const [example] = Object.values(examples)
  if (example === undefined) return html``
  const { value } = example
  return html`<details>
    <summary>Example of ${status === 'default' ? 'another answer' : status}</summary>
    ${block('Example answer', typeof value === 'string' ? value : JSON.stringify(value, null, 2))}
  </details>`
}

/** Can be scrolled by keyboard. */
const block = (label: string, text: string): Html =>
  html`<pre tabindex="0" role="group" aria-label="${label}"><code>${text}</code></pre>`
