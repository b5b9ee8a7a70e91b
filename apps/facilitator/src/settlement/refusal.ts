import { type Refusal } from '@tollgate/chains'

export const isRefusal = (value: object): value is Refusal => 'reason' in value
