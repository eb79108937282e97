/**
 * Returns the condition that rows belong to one owner, such as a project, for a list in the order of owner and id. With
 * `=`, the planner leaves the owner out of the order. It may then walk the primary key past all newer rows of other
 * owners.
 */
export const ownedBy = (COLUMN: string, OWNER: string): string => `${COLUMN} = ANY (ARRAY[${OWNER}])`;
