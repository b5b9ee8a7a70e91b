import { readFileSync } from 'node:fs'
import {
  CONFIGURATION_DOCUMENT,
  configurationDocument,
  exampleFile,
  exampleOf,
  SERVICES,
  variablesOf,
} from './configuration-document'

const HOW = 'run node e2e/dist/docs/write-configuration.js'

/** The formatter aligns the columns. */
const unaligned = (markdown: string) => markdown.replace(/ +/g, ' ').replace(/-{3,}/g, '---')

test(`docs/operate/configure.md has every variable of both schemas as it is, or else ${HOW}`, () => {
  expect(unaligned(readFileSync(CONFIGURATION_DOCUMENT, 'utf8'))).toBe(unaligned(configurationDocument()))
})

test.each(SERVICES)(`.env.example of the %s has every variable as it is, or else ${HOW}`, (service) => {
  expect(readFileSync(exampleOf(service), 'utf8')).toBe(exampleFile(service))
})

test('a variable is documented with what the service expects, and its default', () => {
  const find = (name: string) => variablesOf('gateway').find((variable) => variable.name === name)
  expect(find('PORT')).toMatchObject({ value: 'a port, 0 to 65535', fallback: '8080' })
  expect(find('PUBLIC_URL')).toMatchObject({ fallback: undefined })
  expect(find('REDIS_URL')).toMatchObject({ fallback: '' })
})
