const { relative } = require('node:path')

const SHOWN = 10

/** Prints the slowest test files before the summary, if the run has more files than that. */
module.exports = class SlowestFilesReporter {
  constructor(globalConfig) {
    this.globalConfig = globalConfig
  }

  onRunComplete(_contexts, { testResults }) {
    if (testResults.length <= SHOWN) return
    const slowest = testResults.toSorted((a, b) => b.perfStats.runtime - a.perfStats.runtime).slice(0, SHOWN)
    const lines = slowest.map(({ perfStats, testFilePath }) => {
      const seconds = (perfStats.runtime / 1000).toFixed(1).padStart(7)
      return `${seconds} s  ${relative(this.globalConfig.rootDir, testFilePath)}`
    })
    console.log(`\nThe ${SHOWN} slowest test files:\n${lines.join('\n')}\n`)
  }
}
