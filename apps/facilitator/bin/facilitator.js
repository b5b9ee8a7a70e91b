#!/usr/bin/env node
require('../dist/operations/cli.js').run()
