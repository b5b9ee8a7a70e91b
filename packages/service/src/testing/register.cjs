/** `node -r register.cjs script.ts`: compiles TypeScript as Jest does. */
const { transformFileSync } = require('@swc/core')

require.extensions['.ts'] = (module, filename) => {
  const { code } = transformFileSync(filename, {
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    module: { type: 'commonjs' },
  })
  module._compile(code, filename)
}
