import { type ComponentType } from 'react'
import { Loaded } from './loaded'
import { useCode } from './use-code'

/** A component whose code is loaded when it is first shown. `name` is its own among all. */
export const onDemand = <Props extends object>(
  name: string,
  load: () => Promise<{ default: ComponentType<Props> }>,
): ComponentType<Props> =>
  function OnDemand(props) {
    return <Loaded query={useCode(name, load)}>{({ default: Shown }) => <Shown {...props} />}</Loaded>
  }
