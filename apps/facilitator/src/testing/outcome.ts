/** What an answer comes down to for its caller: its status, and the code where it is a refusal. */
export const outcomeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { code?: string } | undefined)?.code,
]
