import * as database from './index'

test('the door has these names and no others', () => {
  expect(Object.keys(database).sort()).toEqual([
    'DatabaseError',
    'DatabaseProblem',
    'FacilitatorPrisma',
    'GatewayPrisma',
    'createDatabase',
    'migrate',
    'openFacilitatorDatabase',
    'openGatewayDatabase',
    'waitForDatabase',
  ])
})
