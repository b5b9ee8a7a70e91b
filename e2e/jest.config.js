const preset = require('../jest.preset.js')('e2e')

/** The imports of the wallet package have extensions. */
module.exports = {
  ...preset,
  moduleNameMapper: { ...preset.moduleNameMapper, '^(\\.{1,2}/.*)\\.js$': '$1' },
}
