/** One run over every package: `jest --selectProjects gateway` for one of them. */
module.exports = {
  projects: [
    'packages/protocol',
    'packages/service',
    'packages/database',
    'packages/chains',
    'packages/facilitator-client',
    'packages/devnet',
    'packages/testing',
    'apps/gateway',
    'apps/facilitator',
    'e2e',
  ].map((p) => `<rootDir>/${p}`),
  globalSetup: '<rootDir>/scripts/jest-world.js',
  globalTeardown: '<rootDir>/scripts/jest-world-end.js',
  maxWorkers: 2,
  // Of one test. Jest reads it here only, not from a project's own configuration.
  testTimeout: 60_000,
}
