/** One run over every package: `jest --selectProjects gateway` for one of them. */
module.exports = {
  projects: [
    'packages/protocol',
    'packages/service',
    'packages/database',
    'packages/chains',
    'packages/facilitator-client',
    'packages/webhooks',
    'packages/processes',
    'packages/release',
    'packages/cosmos-devchain',
    'packages/devnet',
    'packages/testing',
    'packages/browser-testing',
    'packages/wallet',
    'packages/cli',
    'apps/gateway',
    'apps/facilitator',
    'apps/console',
    'e2e',
    'faults',
    'bench',
  ].map((p) => `<rootDir>/${p}`),
  globalSetup: '<rootDir>/scripts/jest-world.js',
  globalTeardown: '<rootDir>/scripts/jest-world-end.js',
  reporters: [
    '<rootDir>/scripts/slowest-files-reporter.cjs',
    'default',
    '<rootDir>/scripts/failed-files-reporter.cjs',
  ],
  testSequencer: '<rootDir>/scripts/test-sequencer.cjs',
  // More than two cores: of three files, one waits most of the time.
  maxWorkers: 3,
  // A worker keeps some of each file that it ran: past this it makes way for a new one, before the collector slows it.
  workerIdleMemoryLimit: '800MB',
  // Of one file: those whose tests mostly wait, each on a chain of its own, run them beside each other.
  maxConcurrency: 3,
  // Of one test, on a busy machine. Jest reads it here only, not from a project's own configuration.
  testTimeout: 180_000,
}
