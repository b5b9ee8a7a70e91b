module.exports = require('../../jest.preset.js')('devnet')
