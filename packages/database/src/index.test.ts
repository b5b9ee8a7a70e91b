import * as database from './index'

test('exports these names and no others', () => {
  expect(Object.keys(database).sort()).toEqual([
    'DatabaseError',
    'DatabaseSetupError',
    'FacilitatorPrisma',
    'GatewayPrisma',
    'QUERY_TIMEOUT_MS',
    'checkSession',
    'createDatabase',
    'createNotifications',
    'inTransaction',
    'isRolledBack',
    'keepSession',
    'migrate',
    'openFacilitatorDatabase',
    'openGatewayDatabase',
    'pause',
    'runRetention',
    'unavailableReason',
    'waitForDatabase',
    'withTransaction',
  ])
})
