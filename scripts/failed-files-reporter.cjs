const { mkdirSync, writeFileSync } = require('node:fs')
const { dirname, relative } = require('node:path')

/**
 * Writes a report for a second run to the file at `TEST_REPORT`, if set: the number of passed tests, Jest's seed, and each failed
 * file with its test counts and first failure.
 */
module.exports = class FailedFilesReporter {
  constructor(globalConfig) {
    this.globalConfig = globalConfig
  }

  onRunComplete(_contexts, results) {
    const path = process.env.TEST_REPORT
    if (!path) return
    const { rootDir, seed } = this.globalConfig
    const failed = results.testResults
      .filter(({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError)
      .map((file) => ({
        file: relative(rootDir, file.testFilePath),
        passed: file.numPassingTests,
        failed: Math.max(1, file.numFailingTests),
        firstFailure: firstFailureOf(file),
      }))
    const { numPassedTests: passed, wasInterrupted } = results
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify({ seed, passed, wasInterrupted, failed }))
  }
}

function firstFailureOf({ testResults, failureMessage }) {
  const test = testResults.find(({ status }) => status === 'failed')
  const text = test ? `${test.fullName}\n${test.failureMessages[0] ?? ''}` : (failureMessage ?? '')
  // oxlint-disable-next-line no-control-regex -- Jest colours its messages
  return text.replace(/\u001b\[[0-9;]*m/g, '').slice(0, 4_000)
}
