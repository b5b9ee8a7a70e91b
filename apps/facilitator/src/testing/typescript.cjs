/** Compiles TypeScript for a test's child process, as Jest does. */
const { readFileSync } = require('node:fs')
const Module = require('node:module')
const { join } = require('node:path')
const { transformSync } = require('@swc/core')

const packages = join(__dirname, '../../../../packages')
const options = {
  jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
}

Module._extensions['.ts'] = (compiled, filename) =>
  compiled._compile(transformSync(readFileSync(filename, 'utf8'), { ...options, filename }).code, filename)

const resolve = Module._resolveFilename
Module._resolveFilename = (request, ...rest) =>
  resolve(request.replace(/^@tollgate\/([a-z-]+)$/, `${packages}/$1/src/index.ts`), ...rest)
