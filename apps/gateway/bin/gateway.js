#!/usr/bin/env node
require('../dist/cli/cli.js').run()
