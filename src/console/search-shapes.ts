/** As data-shapes.ts, of what "/" finds: of a project, and for operators of the whole service. */

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

/** What of it was the text that was looked for. */
export type SearchedBy = 'txid' | 'key' | 'reference' | 'number' | 'request_id' | 'address' | 'id' | 'name';

export interface SearchHit {
  readonly kind: SearchKind;
  readonly by: SearchedBy;
  /** By which its page is found: an order's key, an address, an id. */
  readonly name: string;
  /** What it is, where the name does not say it. */
  readonly says?: string;
  /** Operators alone. */
  readonly project?: { readonly id: string; readonly name: string };
  readonly at?: string;
}

/** `GET /api/projects/{project}/search?q=` and `GET /api/operator/search?q=`: exact matches, twenty at most. */
export interface SearchAnswer {
  readonly items: readonly SearchHit[];
  /** Among how many of the newest orders a request id was looked for. */
  readonly newest_orders: number;
}
