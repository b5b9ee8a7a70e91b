module.exports = require('../../jest.preset.js')('facilitator-client')
