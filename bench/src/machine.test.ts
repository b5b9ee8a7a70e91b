import { describeCommit, describeMachine, findVersions } from './machine'

test('names the machine, the versions and the commit', () => {
  expect(describeMachine()).toMatchObject({ memory: expect.stringMatching(/^[\d.]+ GiB$/) as string })
  expect(findVersions()).toMatchObject({
    node: process.versions.node,
    postgres: expect.stringMatching(/^\d+\.\d/) as string,
    anvil: expect.stringMatching(/^\d+\.\d/) as string,
  })
  expect(describeCommit()).toMatch(/^([0-9a-f]{10,}( \+ changes)?|unknown)$/)
})
