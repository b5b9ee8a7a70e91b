import { nameIn, type JsonSchema } from './document'
import { html, joined, type Html } from './html'
import { inline } from './prose'

/** The id of a shared schema's place on the page. */
export const anchorOf = (name: string) => `schema-${name}`

const code = (value: unknown) =>
  html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`

const isNull = ({ type }: JsonSchema) => type === 'null'

/** A schema's type in words; a shared one by its name, which leads to it. */
export function typeOf(schema: JsonSchema): Html {
  const { $ref, type, format, items, additionalProperties } = schema
  if ($ref !== undefined) return html`<a href="#${anchorOf(nameIn($ref))}">${nameIn($ref)}</a>`
  if (schema.const !== undefined) return html`always ${code(schema.const)}`
  if (schema.enum) return html`one of ${joined(schema.enum.map(code), ', ')}`
  if (type === 'array') return items === undefined ? html`array` : html`array of ${typeOf(items)}`
  if (type === 'object' && typeof additionalProperties === 'object') return html`object with any members`
  if (typeof type === 'string') return html`${type}${format === undefined ? '' : ` (${format})`}`
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (!choices) return html`anything`
  const possible = choices.filter((choice) => !isNull(choice)).map(typeOf)
  return joined(choices.some(isNull) ? [...possible, html`null`] : possible, schema.allOf ? ' and ' : ' or ')
}

/** What a value must keep to, beyond its type. */
export function limitsOf(schema: JsonSchema): Html[] {
  const found: Html[] = []
  const range = (min: number | undefined, max: number | undefined, unit: string) => {
    if (min === undefined && max === undefined) return
    if (max === undefined) found.push(html`at least ${min}${unit}`)
    else found.push(min === undefined ? html`at most ${max}${unit}` : html`${min} to ${max}${unit}`)
  }
  range(schema.minLength, schema.maxLength, ' characters')
  if (schema.exclusiveMinimum !== undefined) found.push(html`more than ${schema.exclusiveMinimum}`)
  range(schema.minimum, schema.maximum, '')
  range(schema.minItems, schema.maxItems, ' entries')
  if (schema.pattern !== undefined && schema.format === undefined)
    found.push(html`matches ${code(schema.pattern)}`)
  if (schema.not?.pattern !== undefined) found.push(html`must not match ${code(schema.not.pattern)}`)
  if (schema.default !== undefined) found.push(html`default ${code(schema.default)}`)
  return found
}

/** One value with its name, type, limits and meaning, for a list of definitions. */
export function field(
  given: { name: string; required: boolean; description?: string | undefined; place?: string },
  schema: JsonSchema,
): Html {
  const { name, required, place, description = schema.description } = given
  const limits = limitsOf(schema)
  const inner = schema.properties ?? schema.items?.properties
  return html`<div class="field">
    <dt>
      <code class="name">${name}</code> <span class="type">${typeOf(schema)}</span>${
        place === undefined ? '' : html` <span class="type">in the ${place}</span>`
      } <span class="${required ? 'required' : 'optional'}">${required ? 'required' : 'optional'}</span>
    </dt>
    <dd>
      ${
        description === undefined ? '' : html`<p>${inline(description)}</p>`
      }${limits.length === 0 ? '' : html`<p class="limits">${joined(limits, '; ')}</p>`}${
        inner === undefined ? '' : fieldsOf(schema.properties ? schema : (schema.items ?? {}))
      }
    </dd>
  </div>`
}

/** The members of an object, and which of them must be there together. */
export function fieldsOf(schema: JsonSchema): Html {
  const { properties = {}, required = [] } = schema
  const groups = (schema.anyOf ?? []).flatMap((choice) => (choice.required ? [choice.required] : []))
  return html`${
      groups.length < 2
        ? ''
        : html`<p>
            Needs
            ${joined(
              groups.map((names) => joined(names.map(code), ', ')),
              ', or else ',
            )}.
          </p>`
    }
    <dl>
      ${Object.entries(properties).map(([name, member]) =>
        field({ name, required: required.includes(name) }, member),
      )}
    </dl>`
}
