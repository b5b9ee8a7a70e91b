module.exports = require('../../jest.preset.js')('cosmos-devchain')
