module.exports = require('../../jest.preset.js')('processes')
