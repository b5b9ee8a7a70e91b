import * as client from './index'

test('exports what resource servers need, and no more', () => {
  expect(Object.keys(client).sort()).toEqual([
    'FacilitatorError',
    'createAuthHeaders',
    'createFacilitatorClient',
    'facilitatorConfig',
  ])
})
