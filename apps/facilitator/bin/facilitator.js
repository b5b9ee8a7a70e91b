#!/usr/bin/env node
require('../dist/operations/cli/cli.js').run()
