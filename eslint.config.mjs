import js from '@eslint/js'
import prettier from 'eslint-config-prettier'
import tseslint from 'typescript-eslint'

/** The directions of ARCHITECTURE.md, as fences: what a room may not reach for. */
const fence = (files, group, message) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns: [{ group, message }] }] },
})
const chainLibraries = ['ethers', 'ethers/*', '@cosmjs/*', 'secp256k1', 'viem', 'viem/*']
const databaseLibraries = ['pg', '@prisma/*', 'prisma']
const testing = ['@tollgate/testing']
const apps = ['@tollgate/gateway', '@tollgate/gateway/*', '@tollgate/facilitator', '@tollgate/facilitator/*']

/** SQL keywords are in capitals. */
const sql = String.raw`(^|[\s(])(insert into|delete from|update \S+ set|select [^']*\sfrom|left join|order by|on conflict)\s`
const lowerCaseSql = ['TemplateElement[value.raw=', 'Literal[value='].map((selector) => ({
  selector: `${selector}/${sql}/]`,
  message: 'Write SQL keywords in capitals',
}))

export default tseslint.config(
  { ignores: ['**/dist/', '**/generated/', '**/.turbo/', '.tollgate/', 'coverage/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      'no-console': 'error',
      // A part is a function that returns functions: none of them uses `this`, so handing one on alone is safe.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/consistent-type-definitions': ['error', 'type'],
      'no-restricted-syntax': ['error', ...lowerCaseSql],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: {
        process: 'readonly',
        performance: 'readonly',
        __dirname: 'readonly',
        console: 'readonly',
        module: 'writable',
        require: 'readonly',
        URL: 'readonly',
        AbortSignal: 'readonly',
        fetch: 'readonly',
        setTimeout: 'readonly',
      },
    },
  },
  fence(
    ['packages/protocol/**/*.ts'],
    ['@tollgate/*', ...chainLibraries, ...databaseLibraries, 'express', 'axios'],
    'protocol imports nothing of ours and knows neither a chain nor a database',
  ),
  fence(
    ['packages/chains/src/**/*.ts'],
    [
      ...databaseLibraries,
      'express',
      'axios',
      '@tollgate/service',
      '@tollgate/database',
      '@tollgate/facilitator-client',
      ...apps,
    ],
    'chains knows chains and protocol only',
  ),
  fence(
    ['packages/facilitator-client/src/**/*.ts'],
    [
      ...chainLibraries,
      ...databaseLibraries,
      'express',
      '@tollgate/chains',
      '@tollgate/service',
      '@tollgate/database',
      ...apps,
    ],
    'facilitator-client speaks HTTP and protocol only',
  ),
  fence(
    ['packages/service/src/**/*.ts'],
    [
      ...chainLibraries,
      ...databaseLibraries,
      'axios',
      '@tollgate/chains',
      '@tollgate/database',
      '@tollgate/facilitator-client',
      ...apps,
    ],
    'service knows neither chains nor databases',
  ),
  fence(
    ['packages/database/src/**/*.ts'],
    [
      ...chainLibraries,
      'express',
      'axios',
      '@tollgate/chains',
      '@tollgate/service',
      '@tollgate/facilitator-client',
      ...apps,
    ],
    'database is the door to Postgres and nothing else',
  ),
  fence(
    ['packages/processes/src/**/*.ts'],
    [
      ...chainLibraries,
      ...databaseLibraries,
      'express',
      'axios',
      '@tollgate/chains',
      '@tollgate/service',
      '@tollgate/database',
      '@tollgate/facilitator-client',
      '@tollgate/devnet',
      '@tollgate/cosmos-devchain',
      ...apps,
    ],
    'processes knows only what a process and a port are',
  ),
  fence(
    ['packages/cosmos-devchain/src/**/*.ts'],
    [
      ...databaseLibraries,
      'express',
      'axios',
      '@tollgate/chains',
      '@tollgate/service',
      '@tollgate/database',
      '@tollgate/facilitator-client',
      '@tollgate/devnet',
      ...apps,
    ],
    'cosmos-devchain is a reading of the Cosmos SDK of its own, and shares no code with what is tested on it',
  ),
  fence(
    ['packages/devnet/src/**/*.ts'],
    [
      'express',
      'axios',
      '@tollgate/chains',
      '@tollgate/service',
      '@tollgate/database',
      '@tollgate/facilitator-client',
      ...apps,
    ],
    'devnet starts things; it imports none of them',
  ),
  fence(
    ['apps/gateway/src/**/*.ts'],
    [
      ...chainLibraries,
      ...databaseLibraries,
      ...testing,
      'axios',
      '@tollgate/facilitator',
      '@tollgate/facilitator/*',
    ],
    'the gateway reaches chains, databases and the facilitator through packages',
  ),
  fence(
    ['apps/facilitator/src/**/*.ts'],
    [
      ...chainLibraries,
      ...databaseLibraries,
      ...testing,
      'axios',
      '@tollgate/gateway',
      '@tollgate/gateway/*',
      '@tollgate/facilitator-client',
    ],
    'the facilitator reaches chains and databases through packages, and never the gateway',
  ),
  fence(
    ['apps/facilitator/src/settlement/**/*.ts'],
    ['**/payments/*', '**/operations/**'],
    'settlement knows neither the payment handlers nor the operations',
  ),
  {
    // A test signs with real wallets and looks into real stores.
    files: ['**/*.test.ts', '**/testing/**/*.ts'],
    rules: { 'no-restricted-imports': 'off', '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  prettier,
)
