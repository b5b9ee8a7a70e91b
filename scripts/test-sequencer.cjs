const { default: Sequencer } = require('@jest/test-sequencer')

/** These take minutes, and mostly wait: started last, they would run alone at the end. */
const LONGEST = ['e2e/src/faults.test.ts']

const rank = ({ path }) => (LONGEST.some((longest) => path.endsWith(longest)) ? 0 : 1)

/** Jest's order, which in a fresh clone is by size, with the longest files first. */
module.exports = class extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}
