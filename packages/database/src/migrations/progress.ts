/** A log message and its fields. */
export type Progress = (message: string, facts: Record<string, string | number>) => void
