/** The audience of a console and its roles. A person belongs to one audience and signs in there alone. */
export const AUDIENCES = ['merchant', 'operator'] as const;
export type Audience = (typeof AUDIENCES)[number];

export const PROJECT_ROLES = ['owner', 'member'] as const;
export type ProjectRole = (typeof PROJECT_ROLES)[number];

/** `support` may read, but sees no secrets. */
export const OPERATOR_ROLES = ['admin', 'support'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

export type PersonRole = ProjectRole | OperatorRole;

export const ROLES_OF: Readonly<Record<Audience, readonly PersonRole[]>> = {
  merchant: PROJECT_ROLES,
  operator: OPERATOR_ROLES,
};

/** The role that assigns the others. Its last holder cannot be removed. */
export const MANAGING_ROLE = { merchant: 'owner', operator: 'admin' } as const satisfies Record<Audience, PersonRole>;

/** Returns true for roles that can do harm with a password alone: operators and owners. */
export const needsSecondFactor = (role: PersonRole): boolean => role !== 'member';

/** Every role, as a request may contain it. */
export const PERSON_ROLES_TEXT: readonly string[] = [...PROJECT_ROLES, ...OPERATOR_ROLES];
