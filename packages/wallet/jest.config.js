const preset = require('../../jest.preset.js')('wallet')

/** The published ESM build needs extensions in its imports; the tests run the sources. */
module.exports = {
  ...preset,
  moduleNameMapper: { ...preset.moduleNameMapper, '^(\\.{1,2}/.*)\\.js$': '$1' },
}
