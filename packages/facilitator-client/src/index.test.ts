import * as client from './index'

test('exports these names and no others', () => {
  expect(Object.keys(client).sort()).toEqual([
    'FacilitatorError',
    'createAuthHeaders',
    'createFacilitatorClient',
    'facilitatorConfig',
  ])
})
