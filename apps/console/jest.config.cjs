module.exports = require('../../jest.preset.js')('console')
