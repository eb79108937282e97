/** Like data-shapes.ts, for the search ("/"): within a project, or for operators in the whole service. */

export type SearchKind =
  | 'order'
  | 'receiver'
  | 'deposit'
  | 'deposit_address'
  | 'refused_request'
  | 'auto_delegation'
  | 'api_key'
  | 'webhook'
  | 'wallet'
  | 'project';

/** The field that matched the searched text. */
export type SearchedBy = 'txid' | 'key' | 'reference' | 'number' | 'request_id' | 'address' | 'id' | 'name';

export interface SearchHit {
  readonly kind: SearchKind;
  readonly by: SearchedBy;
  /** Identifies its page: an order's key, an address, an id. */
  readonly name: string;
  /** Description, if the name is not sufficient. */
  readonly says?: string;
  /** Only for operators. */
  readonly project?: { readonly id: string; readonly name: string };
  readonly at?: string;
}

/** `GET /api/projects/{project}/search?q=` and `GET /api/operator/search?q=`: exact matches, twenty at most. */
export interface SearchAnswer {
  readonly items: readonly SearchHit[];
  /** Number of newest orders that were searched by request id. */
  readonly newest_orders: number;
}
