/** A resource of the chain that is delegated: each (wallet, receiver, resource) is a delegation of its own. */
export type Resource = 'ENERGY' | 'BANDWIDTH';
