import * as database from './index'

test('the door has these names and no others', () => {
  expect(Object.keys(database).sort()).toEqual([
    'DatabaseError',
    'DatabaseProblem',
    'FacilitatorPrisma',
    'GatewayPrisma',
    'QUERY_TIMEOUT_MS',
    'createDatabase',
    'migrate',
    'openFacilitatorDatabase',
    'openGatewayDatabase',
    'reasonAway',
    'runRetention',
    'waitForDatabase',
  ])
})
