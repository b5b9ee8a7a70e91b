const preset = require('../../jest.preset.js')('cli')

/** The sources of `@tollgate/wallet` have extensions in their imports. */
module.exports = {
  ...preset,
  moduleNameMapper: { ...preset.moduleNameMapper, '^(\\.{1,2}/.*)\\.js$': '$1' },
}
