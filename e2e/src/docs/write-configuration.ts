import { writeFileSync } from 'node:fs'
import {
  CONFIGURATION_DOCUMENT,
  configurationDocument,
  exampleFile,
  exampleOf,
  SERVICES,
} from './configuration-document'

const HELP = `Usage: node e2e/dist/docs/write-configuration.js

Writes docs/operate/configure.md and the .env.example of both services from the schemas of the built services.
`

if (process.argv.includes('--help')) process.stdout.write(HELP)
else {
  writeFileSync(CONFIGURATION_DOCUMENT, configurationDocument())
  for (const service of SERVICES) writeFileSync(exampleOf(service), exampleFile(service))
}
