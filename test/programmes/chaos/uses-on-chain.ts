// Rented energy that accounts used, according to the chain's blocks.
import type { Wallet } from '../../../packages/local/src/chain-account.js';
import type { Use } from './usable-judge.js';

const BLOCKS_PER_READ = 50;

interface ChainBlock {
  readonly block_header: { readonly raw_data: { readonly number?: number; readonly timestamp: number } };
  readonly transactions?: readonly {
    readonly txID: string;
    readonly raw_data: {
      readonly contract: readonly { readonly parameter: { readonly value: { readonly owner_address?: string } } }[];
    };
  }[];
}

/** Reads each block once, so reading must start after the last fork. */
export class UsesOnChain {
  private readonly uses: ReadonlyMap<string, Use[]>;
  private next = 0;

  constructor(
    private readonly chain: Wallet,
    accounts: readonly string[],
  ) {
    this.uses = new Map(accounts.map((address) => [address, []]));
  }

  /** Skips all blocks up to now. */
  async begin(): Promise<void> {
    const { block_header: head } = (await this.chain.post('wallet/getnowblock', {})) as unknown as ChainBlock;
    this.next = (head.raw_data.number ?? 0) + 1;
  }

  /** Returns the uses of each account in blocks up to this block time. */
  async upTo(atMs: number): Promise<ReadonlyMap<string, readonly Use[]>> {
    for (;;) {
      const asked = { startNum: this.next, endNum: this.next + BLOCKS_PER_READ, visible: true };
      const answer = await this.chain.post('wallet/getblockbylimitnext', asked);
      const blocks = ((answer['block'] ?? []) as readonly ChainBlock[]).filter(
        ({ block_header: { raw_data: head } }) => head.timestamp <= atMs,
      );
      for (const block of blocks) await this.add(block);
      if (blocks.length < BLOCKS_PER_READ) return this.uses;
    }
  }

  private async add({ block_header: { raw_data: head }, transactions = [] }: ChainBlock): Promise<void> {
    for (const { txID, raw_data } of transactions) {
      const uses = this.uses.get(raw_data.contract[0]?.parameter.value.owner_address ?? '');
      if (uses === undefined) continue;
      const info = await this.chain.post('wallet/gettransactioninfobyid', { value: txID });
      const energy = (info['receipt'] as { readonly energy_usage?: number } | undefined)?.energy_usage ?? 0;
      if (energy > 0) uses.push({ atMs: head.timestamp, energy });
    }
    this.next = (head.number ?? 0) + 1;
  }
}
