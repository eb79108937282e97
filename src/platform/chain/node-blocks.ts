/**
 * Reads blocks of one node: heads and headers without transactions, and the transactions of each block once. Third
 * parties control a block's content. A block that cannot be read whole is read as the list of its execution results,
 * which contains no third-party data.
 */
import { monotonicMs } from '../support/clock.js';
import { BackendWait } from './backend-wait.js';
import {
  listedBlock,
  readBlock,
  readHeader,
  readSignedAct,
  type Block,
  type BlockHeader,
  type SignedAct,
} from './block.js';
import { Semaphore } from '../support/semaphore.js';
import { NO_ANSWER, NodeError, ignoreNodeError } from './errors.js';
import { isJsonObject, type JsonObject } from './json.js';

export type PortName = 'full' | 'solid';

/**
 * Manner of a request: the `head` endpoint may not exist, and `block` has its own limits and no effect on the node's
 * health.
 */
export type Manner = 'head' | 'block';

export type Ask = (port: PortName, path: string, body: JsonObject, manner: Manner) => Promise<unknown>;

/** Time for which a provider without `getblock` is not asked for it. */
const LACK_MS = 60_000;
/** Time for which a block that could not be read whole is not requested whole. */
const LISTED_MS = 60_000;
const LISTED_MAX = 64;
/**
 * Estimated size of the cache. It covers the last five minutes, in which a block is followed, becomes solid (a minute)
 * and is searched (another minute). Older blocks are read again.
 */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
const KEPT_BLOCKS_MAX = 100;
const TRANSACTION_BYTES = 250;
/** Size of an act besides its bytes: object, amounts, addresses and buffers. */
const ACT_BYTES = 750;
/** Concurrent reads of whole blocks from one node: a full block is some megabytes of JSON. */
const READS_MAX = 4;
/**
 * Time for which whole blocks, or lists, are not requested after one came too late. Otherwise each would delay a
 * request.
 */
const LATE_MS = 60_000;
/** A single broken answer does not mean a broken block. */
const ATTEMPTS = 2;
const PATHS = { full: 'wallet', solid: 'walletsolidity' } as const;

export class NodeBlocks {
  private readonly kept = new Map<string, Block>();
  private keptBytes = 0;
  private readonly listed = new Map<string, { readonly block: Block; readonly untilMs: number }>();
  private readonly coming = new Map<string, Promise<Block>>();
  private readonly lackingUntilMs = { full: Number.NEGATIVE_INFINITY, solid: Number.NEGATIVE_INFINITY };
  private readonly lateUntilMs = { whole: Number.NEGATIVE_INFINITY, list: Number.NEGATIVE_INFINITY };
  private readonly hasHeaders = { full: false, solid: false };
  /** A provider that answers `{}` for longer, in place of every block, has none to show. */
  private readonly waits = { full: new BackendWait(), solid: new BackendWait() };
  private readonly semaphore = new Semaphore(READS_MAX);

  constructor(
    private readonly name: string,
    private readonly ask: Ask,
  ) {}

  /** Returns the port's head. Throws NodeError. */
  async head(port: PortName): Promise<BlockHeader> {
    const header = await this.askForHeader(port, {});
    if (header !== undefined) return header;
    const block = readBlock(this.name, await this.object(port, 'getnowblock', {}, 'block'));
    this.keep(block);
    return block;
  }

  /** Returns the header at a height; undefined when the port's chain is not that high. Throws NodeError. */
  async header(port: PortName, number: number): Promise<BlockHeader | undefined> {
    const header = await this.askForHeader(port, { id_or_num: number.toString() });
    if (header === undefined) return this.readWholeBlock(port, number);
    if (header === 'none') return undefined;
    if (header.number !== number) throw new NodeError(this.name, 'nonsense', 'another block than was asked for');
    return header;
  }

  /** Returns the block at a height; undefined when the port's chain is not that high. Throws NodeError. */
  async block(port: PortName, number: number): Promise<Block | undefined> {
    const header = await this.header(port, number);
    return header && this.contentOf(port, header);
  }

  /**
   * Returns the block of a header, read once. Throws NodeError, of kind `unreadable` when no way of reading succeeds, and
   * `unhealthy` when the answering backend does not have it yet.
   */
  async contentOf(port: PortName, header: BlockHeader): Promise<Block> {
    const known = this.kept.get(header.id);
    if (known !== undefined) return known;
    const listed = this.listed.get(header.id);
    if (listed !== undefined && monotonicMs() < listed.untilMs) return listed.block;
    const key = `${port}/${header.id}`;
    const read = async (): Promise<Block> => this.semaphore.run(async () => this.read(port, header), 0);
    const coming = this.coming.get(key) ?? read().finally(() => this.coming.delete(key));
    this.coming.set(key, coming);
    return coming;
  }

  /** Drops a block from the cache because its content is in doubt. The next request reads it again. */
  forget({ id }: BlockHeader): void {
    const known = this.kept.get(id);
    if (known !== undefined) this.keptBytes -= sizeOf(known);
    this.kept.delete(id);
    this.listed.delete(id);
  }

  /** Caches a whole block of this node, for later requests by its header. */
  keep(block: Block): void {
    if (this.kept.has(block.id)) return;
    this.kept.set(block.id, block);
    this.keptBytes += sizeOf(block);
    for (const [id, oldest] of this.kept) {
      if (this.kept.size <= KEPT_BLOCKS_MAX && this.keptBytes <= KEPT_BYTES_MAX) break;
      this.kept.delete(id);
      this.keptBytes -= sizeOf(oldest);
    }
  }

  /**
   * Returns the act in one transaction; undefined when its type is none of ours. Throws NodeError, also for an unknown
   * transaction.
   */
  async signedAct(port: PortName, txid: string): Promise<SignedAct | undefined> {
    return readSignedAct(this.name, txid, await this.object(port, 'gettransactionbyid', { value: txid }, 'block'));
  }

  /** Returns a port's answer about a height, read by the platform's parser. Throws NodeError. */
  async json(port: PortName, path: 'getblockbynum' | 'gettransactioninfobyblocknum', number: number): Promise<unknown> {
    return this.ask(port, `${PATHS[port]}/${path}`, { num: number }, 'block');
  }

  private async read(port: PortName, header: BlockHeader): Promise<Block> {
    let fault: NodeError | undefined;
    const isLate = monotonicMs() < this.lateUntilMs.whole;
    if (isLate) fault = new NodeError(this.name, 'timeout', 'its blocks came too late a moment ago');
    for (let attempt = 1; attempt <= ATTEMPTS && !isLate; attempt += 1) {
      try {
        const block = await this.readWholeBlock(port, header.number);
        if (block?.id === header.id) return block;
        fault =
          block === undefined
            ? new NodeError(this.name, 'unhealthy', `does not have block ${header.number.toString()} yet`)
            : new NodeError(this.name, 'nonsense', 'another block than its header was of');
      } catch (error) {
        if (!(error instanceof NodeError) || error.kind === 'throttled') throw error;
        fault = error;
        if (error.kind === 'timeout') {
          this.lateUntilMs.whole = monotonicMs() + LATE_MS;
          break;
        }
      }
    }
    if (fault?.kind === 'unhealthy' && this.waits[port].keepWaiting()) throw fault;
    return this.list(port, header, fault);
  }

  /** Returns the block by its execution results, which give only the ids of its transactions. */
  private async list(port: PortName, header: BlockHeader, fault: NodeError | undefined): Promise<Block> {
    if (monotonicMs() < this.lateUntilMs.list) throw this.unreadableError(header, fault);
    try {
      const infos = await this.ask(
        port,
        `${PATHS[port]}/gettransactioninfobyblocknum`,
        { num: header.number },
        'block',
      );
      const block = listedBlock(this.name, header, infos);
      // The list was requested by number: the chain may meanwhile have another block there.
      if ((await this.header(port, header.number))?.id !== header.id) {
        throw new NodeError(this.name, 'unhealthy', 'its chain has another block there by now');
      }
      this.listed.set(header.id, { block, untilMs: monotonicMs() + LISTED_MS });
      trim(this.listed, LISTED_MAX);
      return block;
    } catch (error) {
      if (!(error instanceof NodeError) || error.kind === 'throttled' || error.kind === 'unhealthy') throw error;
      if (error.kind === 'timeout') this.lateUntilMs.list = monotonicMs() + LATE_MS;
      const isCut = fault?.kind === 'unreachable' && error.kind === 'unreachable';
      // A node that still returns the header has the block: a proxy may cut off large answers.
      if (isCut && !(await this.hasBlock(port, header))) throw fault;
      throw this.unreadableError(header, fault);
    }
  }

  private unreadableError({ number }: BlockHeader, fault: NodeError | undefined): NodeError {
    return new NodeError(this.name, 'unreadable', `block ${number.toString()} cannot be read`, fault);
  }

  private async hasBlock(port: PortName, { number, id }: BlockHeader): Promise<boolean> {
    return (await this.header(port, number).catch(ignoreNodeError))?.id === id;
  }

  private async readWholeBlock(port: PortName, number: number): Promise<Block | undefined> {
    const json = await this.readWholeJson(port, number);
    if (Object.keys(json).length === 0) return undefined;
    const block = readBlock(this.name, json);
    if (block.number !== number) throw new NodeError(this.name, 'nonsense', 'another block than was asked for');
    this.waits[port].end();
    this.keep(block);
    return block;
  }

  /** TRON: a lite fullnode disables `getblockbynum`, but answers `getblock` with the whole block. */
  private async readWholeJson(port: PortName, number: number): Promise<JsonObject> {
    try {
      return await this.object(port, 'getblockbynum', { num: number }, 'block');
    } catch (error) {
      if (!(error instanceof NodeError) || !NO_ANSWER.has(error.kind) || !this.hasHeaders[port]) throw error;
      return this.object(port, 'getblock', { id_or_num: number.toString(), detail: true }, 'block');
    }
  }

  /** Returns undefined when the provider has no such endpoint, and 'none' when it has no such block. */
  private async askForHeader(port: PortName, which: { id_or_num: string }): Promise<BlockHeader | 'none' | undefined>;
  private async askForHeader(port: PortName, which: object): Promise<BlockHeader | undefined>;
  private async askForHeader(port: PortName, which: { id_or_num?: string }): Promise<BlockHeader | 'none' | undefined> {
    if (monotonicMs() < this.lackingUntilMs[port]) return undefined;
    try {
      const json = await this.object(port, 'getblock', { ...which, detail: false }, 'head');
      if (which.id_or_num !== undefined && Object.keys(json).length === 0) {
        // If the node never returned a header, an empty answer may mean that it lacks the endpoint.
        return this.hasHeaders[port] ? 'none' : undefined;
      }
      const header = readHeader(this.name, json);
      this.hasHeaders[port] = true;
      return header;
    } catch (error) {
      if (!(error instanceof NodeError) || !NO_ANSWER.has(error.kind)) throw error;
      if (error.kind !== 'nonsense') this.lackingUntilMs[port] = monotonicMs() + LACK_MS;
      return undefined;
    }
  }

  private async object(port: PortName, path: string, body: JsonObject, manner: Manner): Promise<JsonObject> {
    const json = await this.ask(port, `${PATHS[port]}/${path}`, body, manner);
    if (!isJsonObject(json)) throw new NodeError(this.name, 'nonsense', `${path} answered no JSON object`);
    return json;
  }
}

function sizeOf({ transactions }: Block): number {
  return transactions.reduce(
    (sum, { signed }) => sum + TRANSACTION_BYTES + (signed ? ACT_BYTES + signed.rawData.length : 0),
    0,
  );
}

function trim(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
