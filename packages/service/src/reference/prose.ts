import { html, type Html } from './html'

/** Our descriptions as HTML: paragraphs, numbered lists, and `code`. Everything else is text. */
export const prose = (text: string): Html => html`${text.split(/\n{2,}/).map(block)}`

function block(text: string): Html {
  const lines = text.split('\n')
  if (lines.every((line) => /^\d+\. /.test(line)))
    return html`<ol>
      ${lines.map((line) => html`<li>${inline(line.replace(/^\d+\. /, ''))}</li>`)}
    </ol>`
  return html`<p>${inline(text)}</p>`
}

/** One line of a description. */
export const inline = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
