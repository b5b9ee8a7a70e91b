import { asAdmin } from './accounts'
import { type TestFacilitator } from './facilitator'
import { until } from './metrics'

type Facilitator = Pick<TestFacilitator, 'api'>

export async function readAsAdmin<T>({ api }: Facilitator, path: string): Promise<T> {
  const answer = await api.get(`/admin/${path}`).set(asAdmin).expect(200)
  return (answer.body as { data: T }).data
}

/** On a busy machine a part of a view may not be read in time: asks again until it is so. */
export const untilRead = <T>(
  facilitator: Facilitator,
  path: string,
  isSo: (data: T) => boolean,
): Promise<T> => until(() => readAsAdmin<T>(facilitator, path), isSo)
