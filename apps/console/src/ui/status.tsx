import { type ReactNode } from 'react'

/** Is in the page before its content, because a screen reader may not read a region that comes with its text. */
export const Status = ({ children }: { children: ReactNode }) => (
  <div role="status" className="status">
    {children}
  </div>
)
