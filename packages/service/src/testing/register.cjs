/** `node -r register.cjs script.ts`: compiles TypeScript as Jest does. */
const { transformFileSync } = require('@swc/core')

require.extensions['.ts'] = (compiled, filename) => {
  const { code } = transformFileSync(filename, {
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    module: { type: 'commonjs' },
  })
  compiled._compile(code, filename)
}
