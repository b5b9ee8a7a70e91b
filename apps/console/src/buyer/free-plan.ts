/** The plan of credits that the gateway gave, not sold. No list of plans has it. */
export const FREE_PLAN_ID = 0
