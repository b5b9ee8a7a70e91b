module.exports = require('../../jest.preset.js')('browser-testing')
