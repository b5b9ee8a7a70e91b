import { createCheckRoom } from './check-room'

const addresses = Array.from({ length: 12 }, (_, index) => `192.0.2.${index}`)
const overloaded = { code: 'OVERLOADED' }

/** How many of the entries are admitted at once, and how to end all of them. */
async function fill(room: ReturnType<typeof createCheckRoom>, address: string, entries: number) {
  const left: (() => void)[] = []
  const entering = Array.from({ length: entries }, () =>
    room.enter(address).then((leave) => left.push(leave)),
  )
  for (const each of entering) each.catch(() => undefined)
  await new Promise(setImmediate)
  return { admitted: left.length, left, entering }
}

test('the share of an address shrinks as the room fills, and a new address finds a place beside a flood', async () => {
  const room = createCheckRoom()
  const admitted: number[] = []
  for (const address of addresses.slice(0, 7)) admitted.push((await fill(room, address, 20)).admitted)
  expect(admitted).toEqual([5, 4, 2, 2, 1, 1, 1])
})

test('who waits is admitted when a place becomes free, in order, and within the share of the address', async () => {
  const room = createCheckRoom()
  const flood = await fill(room, 'flood', 7)
  const other = await room.enter('other')
  expect(flood.admitted).toBe(5)
  other()
  await new Promise(setImmediate)
  expect(flood.left).toHaveLength(5)
  flood.left[0]!()
  await new Promise(setImmediate)
  expect(flood.left).toHaveLength(6)
  flood.left.splice(1, 5).forEach((leave) => leave())
  await Promise.all(flood.entering)
})

test('what finds no place in time is refused, and what comes when too many wait, at once', async () => {
  const room = createCheckRoom({ waitMs: 1 })
  const { entering } = await fill(room, 'flood', 5 + 32)
  await expect(room.enter('flood')).rejects.toMatchObject(overloaded)
  await expect(entering.at(-1)).rejects.toMatchObject(overloaded)
  ;(await room.enter('other'))()
})
