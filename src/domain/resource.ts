import type { LegKind } from './order-state.js';

/** A resource of the chain that is delegated: each (wallet, receiver, resource) is a separate delegation. */
export type Resource = 'ENERGY' | 'BANDWIDTH';

export const RESOURCES: readonly Resource[] = ['ENERGY', 'BANDWIDTH'];

/** Returns the resource that a delegation of this kind moves. */
export const resourceOf = (kind: LegKind): Resource => (kind === 'bandwidth' ? 'BANDWIDTH' : 'ENERGY');

/** Returns the kind of the legs that delegate a resource. */
export const delegationKind = (resource: Resource): LegKind => (resource === 'BANDWIDTH' ? 'bandwidth' : 'rental');
