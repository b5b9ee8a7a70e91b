import { parseArgs } from 'node:util'
import { requireFrom } from './verify/borrowed.mjs'

const HELP = `Usage: node bench/echo.mjs [--help]

Serves Express as its own documents begin, on a free port of this machine: POST / answers the JSON body that came, GET /cpu the
processor time used. bench/verify.mjs starts it, to measure every answer of ours against it.
`

const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
if (values.help) process.stdout.write(HELP)
else {
  const express = requireFrom('apps/facilitator')('express')
  const app = express()
  app.use(express.json())
  app.post('/', (req, res) => res.json(req.body))
  app.get('/cpu', (_req, res) => res.json(process.cpuUsage()))
  const server = app.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
}
