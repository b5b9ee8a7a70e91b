import { stringify } from 'yaml'

/** YAML 1.1, as Kubernetes and Helm read it: there `off` is a boolean. */
export const YAML = { lineWidth: 0, version: '1.1' } as const

export type Templates = {
  /** A place for the value of a template expression. */
  value: (expression: string) => string
  /** It is put in the place of a whole mapping. */
  block: (expression: string) => string
  /** A line that is there if the value is set. */
  line: (value: string) => string
  /** A line with this value, which is there unless the expression is true. */
  unless: (expression: string, value: string) => string
  /** It is put in the place of a service's variables. */
  variables: (expression: string) => string
  /** A value that is there if the expression is true. */
  when: (expression: string, value: object) => string
  /** It is put in the place of a text of several lines. */
  text: (value: string) => string
  fill: (yaml: string) => string
}

/** Placeholders that YAML leaves as they are, and their replacements by template expressions. */
export function createTemplates(): Templates {
  const expressions: string[] = []
  const place = (kind: string) => (expression: string) => `__${kind}${expressions.push(expression) - 1}__`
  const at = (index: string) => expressions[Number(index)] ?? ''
  return {
    value: place('V'),
    block: place('B'),
    line: place('L'),
    unless: (expression, value) => place('U')(`${expression}\n${stringify(value, YAML).trim()}`),
    variables: place('C'),
    when: (expression, value) => place('W')(`${expression}\n${stringify(value, YAML)}`),
    text: place('T'),
    fill: (yaml) =>
      yaml
        .replace(/^( *)(\S+): __B(\d+)__$/gm, (_, indent: string, key: string, index: string) => {
          return `${indent}${key}:\n${indent}  {{- toYaml ${at(index)} | nindent ${indent.length + 2} }}`
        })
        .replace(/^( *)(\S+): __L(\d+)__$/gm, (_, indent: string, key: string, index: string) => {
          return `${indent}{{- with ${at(index)} }}\n${indent}${key}: {{ . | quote }}\n${indent}{{- end }}`
        })
        .replace(/^( *)(\S+): __U(\d+)__$/gm, (_, indent: string, key: string, index: string) => {
          const [expression, value] = at(index).split('\n')
          return `${indent}{{- if not ${expression} }}\n${indent}${key}: ${value}\n${indent}{{- end }}`
        })
        .replace(/^( *)(\S+): __W(\d+)__$/gm, (_, indent: string, key: string, index: string) => {
          const [expression, ...lines] = at(index).trimEnd().split('\n')
          const value = lines.map((line) => `\n${indent}  ${line}`).join('')
          return `${indent}{{- if ${expression} }}\n${indent}${key}:${value}\n${indent}{{- end }}`
        })
        .replace(/^( *)(\S+): __C(\d+)__$/gm, (_, indent: string, key: string, index: string) =>
          [`${indent}${key}:`, ...variablesOf(at(index)).map((line) => `${indent}  ${line}`)].join('\n'),
        )
        .replace(/^( *)(\S+): __T(\d+)__$/gm, (_, indent: string, key: string, index: string) => {
          return `${indent}${key}: |\n{{ ${at(index)} | indent ${indent.length + 2} }}`
        })
        .replace(/__V(\d+)__/g, (_, index: string) => `{{ ${at(index)} }}`),
  }
}

/** All quoted: the API refuses a ConfigMap with a number. Not by toString, which gives a large number an exponent. */
const variablesOf = (config: string) => [
  '{{- $proxies := ternary (dict "TRUSTED_PROXIES" .Values.ingress.trustedProxies) (dict) .Values.ingress.enabled }}',
  `{{- range $name, $value := merge (dict) ${config} $proxies }}`,
  '{{ $name }}: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}',
  '{{- end }}',
]
