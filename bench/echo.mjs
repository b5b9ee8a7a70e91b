import { borrowFrom } from './verify/borrowed.mjs'

/** Express as its own documents begin: what every answer of ours is measured against. */
const express = borrowFrom('apps/facilitator')('express')

const app = express()
app.use(express.json())
app.post('/', (req, res) => res.json(req.body))
app.get('/cpu', (_req, res) => res.json(process.cpuUsage()))
const server = app.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
