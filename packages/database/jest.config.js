module.exports = require('../../jest.preset.js')('database')
