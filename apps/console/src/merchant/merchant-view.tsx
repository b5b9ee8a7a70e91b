import { onDemand } from '../ui/on-demand'
import { SignedOut } from './sign-in/signed-out'
import { useSessionState } from './use-session-state'

/** Not part of the code that the sign-in waits for. */
const SignedIn = onDemand('signed-in', () => import('./signed-in'))

export const MerchantView = () => (useSessionState() === 'signed-out' ? <SignedOut /> : <SignedIn />)
