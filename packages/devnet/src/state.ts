// The chain state: a map, a journal of each block's changes (to revert blocks and read past states), and overlays for
// transactions that may fail. Values are immutable: replace, never mutate.

export interface Reader {
  get(key: string): unknown;
}
export interface State extends Reader {
  /** Replaces a value; undefined removes it. */
  put(key: string, value: unknown): void;
}

interface Layer {
  readonly block: number;
  /** The previous value of each changed key; undefined = it was absent. */
  readonly before: Map<string, unknown>;
}

/** A store as plain data, for dumps. */
export interface StoreImage {
  readonly values: readonly (readonly [string, unknown])[];
  readonly layers: readonly { readonly block: number; readonly before: readonly (readonly [string, unknown])[] }[];
}

export class Store implements State {
  private values = new Map<string, unknown>();
  private layers: Layer[] = [];
  private readonly links = new Map<string, Set<string>>();

  get(key: string): unknown {
    return this.values.get(key);
  }

  put(key: string, value: unknown): void {
    const layer = this.layers.at(-1);
    if (layer !== undefined && !layer.before.has(key)) layer.before.set(key, this.values.get(key));
    this.set(key, value);
  }

  private set(key: string, value: unknown): void {
    if (value === undefined) {
      this.values.delete(key);
      return;
    }
    this.values.set(key, value);
    if (key.startsWith('i:')) this.link(key);
  }

  /** Indexes the partner of a link `i:<account>:<direction>:<other>`, so that an account's links can be listed. */
  private link(key: string): void {
    const cut = key.lastIndexOf(':');
    const others = this.links.get(key.slice(0, cut));
    if (others === undefined) this.links.set(key.slice(0, cut), new Set([key.slice(cut + 1)]));
    else others.add(key.slice(cut + 1));
  }

  /** Returns every partner ever linked. The caller checks the state for links that still hold. */
  linked(account: string, direction: 'to' | 'from'): ReadonlySet<string> {
    return this.links.get(`i:${account}:${direction}`) ?? new Set();
  }

  /** Begins the changes of block `block`; every put until the next call belongs to it. */
  open(block: number): void {
    this.layers.push({ block, before: new Map() });
  }

  /** Reverts the newest layer. Returns false if none is left. */
  undo(): boolean {
    const layer = this.layers.pop();
    if (layer === undefined) return false;
    for (const [key, value] of layer.before) this.set(key, value);
    return true;
  }

  /** Number of layers that can be reverted. */
  get depth(): number {
    return this.layers.length;
  }

  /** Drops the journal except for the newest `keep` layers. */
  trim(keep: number): void {
    if (this.layers.length > keep) this.layers.splice(0, this.layers.length - keep);
  }

  /** Returns the state right after block `block`. Costs one look-up per later layer. */
  at(block: number): Reader {
    return {
      get: (key) => {
        let first = this.layers.length;
        while (first > 0 && (this.layers[first - 1]?.block ?? 0) > block) first--;
        for (let i = first; i < this.layers.length; i++) {
          const before = this.layers[i]?.before;
          if (before?.has(key) === true) return before.get(key);
        }
        return this.values.get(key);
      },
    };
  }

  /** Sets a value in the current and every past state: an intervention, not a transaction. */
  force(key: string, value: unknown): void {
    this.set(key, value);
    for (const layer of this.layers) layer.before.delete(key);
  }

  /** Applies `change` to a value in the current and every past state. */
  forceEach(key: string, change: (value: unknown) => unknown): void {
    this.set(key, change(this.get(key)));
    for (const { before } of this.layers) if (before.has(key)) before.set(key, change(before.get(key)));
  }

  image(): StoreImage {
    return {
      values: [...this.values],
      layers: this.layers.map((l) => ({ block: l.block, before: [...l.before] })),
    };
  }

  load(image: StoreImage): void {
    this.values = new Map(image.values);
    this.links.clear();
    for (const key of this.values.keys()) if (key.startsWith('i:')) this.link(key);
    for (const layer of image.layers) for (const [key] of layer.before) if (key.startsWith('i:')) this.link(key);
    this.layers = image.layers.map((l) => ({ block: l.block, before: new Map(l.before) }));
  }
}

/** Changes that are held apart from `parent` until commit(). */
export class Overlay implements State {
  private readonly changes = new Map<string, unknown>();
  constructor(private readonly parent: Reader) {}

  get(key: string): unknown {
    return this.changes.has(key) ? this.changes.get(key) : this.parent.get(key);
  }

  put(key: string, value: unknown): void {
    this.changes.set(key, value);
  }

  /** Writes the changes into `target`, usually the parent. */
  commit(target: State): void {
    for (const [key, value] of this.changes) target.put(key, value);
  }
}
