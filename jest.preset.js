/** Packages whose tests import the sources of the wallet package. */
const IMPORT_WALLET = ['wallet', 'cli', 'e2e']

/** What the Jest configuration of every package shares. ESM-only dependencies, and those with a dynamic import, are compiled like our own code. */
module.exports = (name) => ({
  displayName: name,
  rootDir: require('node:path').join(
    __dirname,
    ['gateway', 'facilitator', 'console'].includes(name)
      ? 'apps'
      : ['e2e', 'faults', 'bench'].includes(name)
        ? ''
        : 'packages',
    name,
  ),
  roots: ['<rootDir>/src'],
  testMatch: ['**/*.test.ts'],
  testEnvironment: 'node',
  transform: {
    '\\.[cm]?[tj]s$': [
      '@swc/jest',
      { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  transformIgnorePatterns: [
    '/node_modules/(?!(\\.pnpm|@noble|@scure|@prisma/schema-engine-wasm|@opentelemetry/otlp-exporter-base)/)',
    '/node_modules/\\.pnpm/(?!(@noble\\+|@scure\\+|@prisma\\+schema-engine-wasm@|@opentelemetry\\+otlp-exporter-base@))',
  ],
  moduleNameMapper: {
    '^@tollgate/(gateway|facilitator)$': `${__dirname}/apps/$1/src/main.ts`,
    '^@tollgate/([^/]+)$': `${__dirname}/packages/$1/src/index.ts`,
    '^@tollgate/wallet/([^/]+)$': `${__dirname}/packages/wallet/src/$1.ts`,
    // The sources of the wallet package import with extensions, as its published ESM build must.
    ...(IMPORT_WALLET.includes(name) ? { '^(\\.{1,2}/.*)\\.js$': '$1' } : {}),
    // A dynamic import is left as it is, and names the built file.
    '^(\\./exporter)\\.js$': '$1',
    '^@tollgate/testing/([^/]+)$': `${__dirname}/packages/testing/src/$1/index.ts`,
    '^@tollgate/e2e/testing/([^/]+)$': `${__dirname}/e2e/src/testing/$1.ts`,
  },
})
