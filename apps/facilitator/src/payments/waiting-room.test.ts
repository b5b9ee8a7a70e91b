import { createWaitingRoom } from './waiting-room'

const newUser = (userId: number) => ({ userId, userFeeShareBps: null })
const trusted = (userId: number) => ({ userId, userFeeShareBps: 9_000 })

/** Enters until the room is full for each of the users, who take turns. */
function fill(
  room: ReturnType<typeof createWaitingRoom>,
  users: readonly Parameters<typeof room.enter>[0][],
) {
  const left: (() => void)[] = []
  for (let before = -1; before < left.length;) {
    before = left.length
    for (const user of users) if (room.hasPlace(user)) left.push(room.enter(user))
  }
  return left
}

test.each([
  ['one user', [newUser(1)], 50],
  ['a hundred new users together', Array.from({ length: 100 }, (_, id) => newUser(id)), 50],
  ['a trusted user', [trusted(1)], 50],
])('%s fills half of the room, and others find a place', (_who, users, places) => {
  const room = createWaitingRoom(100)
  const left = fill(room, users)
  expect(left).toHaveLength(places)
  expect(fill(room, [trusted(1_000)])).toHaveLength(25)
  expect(room.hasPlace(trusted(1_001))).toBe(true)
  for (const leave of left) leave()
  expect(room.hasPlace(users[0]!)).toBe(true)
})
