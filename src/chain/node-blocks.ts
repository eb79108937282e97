/**
 * Blocks as one node returns them: heads and headers without their transactions, and the transactions of each block once.
 * What a block holds is anybody's, so a block that cannot be read is read another way: as the list of what happened to
 * its transactions, which holds nothing that a third party could write.
 */
import { monotonicMs } from '../base/clock.js';
import {
  listedBlock,
  readBlock,
  readHeader,
  readSignedAct,
  type Block,
  type BlockHeader,
  type SignedAct,
} from './block.js';
import { Turns } from '../base/turns.js';
import { NO_ANSWER, NodeError, unlessOfNode } from './errors.js';
import { isJsonObject, type JsonObject } from './json.js';

export type PortName = 'full' | 'solid';

/** How a question is asked: `head` may not exist there, `block` has limits of its own that judge nobody's health. */
export type Manner = 'head' | 'block';

export type Ask = (port: PortName, path: string, body: JsonObject, manner: Manner) => Promise<unknown>;

/** How long a provider is taken at its word that it has no `getblock`. */
const LACK_MS = 60_000;
/** How long a block that could not be read whole is not asked for again. */
const LISTED_MS = 60_000;
const LISTED_MAX = 64;
/**
 * What is kept of blocks, by an estimate: the last five minutes, in which a block is followed, becomes solid (a minute)
 * and is searched (another one). Reading back further reads again.
 */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
const KEPT_BLOCKS_MAX = 100;
const TRANSACTION_BYTES = 250;
/** Of an act: its object, amounts, addresses and buffers beside their bytes. */
const ACT_BYTES = 750;
/** Read whole of one node at once by this process: as JSON a full block is some megabytes. */
const READS_MAX = 4;
/** How long what came too late once is not asked for: blocks whole, or as lists. Meanwhile others are not held up by it. */
const LATE_MS = 60_000;
/** A broken answer now and then is no broken block. */
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
  private readonly turns = new Turns(READS_MAX);

  constructor(
    private readonly name: string,
    private readonly ask: Ask,
  ) {}

  /** The port's head. Throws NodeFault. */
  async head(port: PortName): Promise<BlockHeader> {
    const header = await this.askForHeader(port, {});
    if (header !== undefined) return header;
    const block = readBlock(this.name, await this.object(port, 'getnowblock', {}, 'block'));
    this.keep(block);
    return block;
  }

  /** The header at a height; undefined when the port's chain is not that high. Throws NodeFault. */
  async header(port: PortName, number: number): Promise<BlockHeader | undefined> {
    const header = await this.askForHeader(port, { id_or_num: number.toString() });
    if (header === undefined) return this.whole(port, number);
    if (header === 'none') return undefined;
    if (header.number !== number) throw new NodeError(this.name, 'nonsense', 'another block than was asked for');
    return header;
  }

  /** The block at a height; undefined when the port's chain is not that high. Throws NodeFault. */
  async block(port: PortName, number: number): Promise<Block | undefined> {
    const header = await this.header(port, number);
    return header && this.contentOf(port, header);
  }

  /** The block of a header, read once. Throws NodeFault, of kind `unreadable` when the block stays so in every way. */
  async contentOf(port: PortName, header: BlockHeader): Promise<Block> {
    const known = this.kept.get(header.id);
    if (known !== undefined) return known;
    const listed = this.listed.get(header.id);
    if (listed !== undefined && monotonicMs() < listed.untilMs) return listed.block;
    const key = `${port}/${header.id}`;
    const read = async (): Promise<Block> => this.turns.run(async () => this.read(port, header), 0);
    const coming = this.coming.get(key) ?? read().finally(() => this.coming.delete(key));
    this.coming.set(key, coming);
    return coming;
  }

  /** What was read of a block's transactions is doubted: they are read anew when next asked for. */
  forget({ id }: BlockHeader): void {
    const known = this.kept.get(id);
    if (known !== undefined) this.keptBytes -= sizeOf(known);
    this.kept.delete(id);
    this.listed.delete(id);
  }

  /** Has a block that was read whole of this node known to whoever asks for it by its header. */
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

  /** The act in one transaction; undefined when it is of no type of ours. Throws NodeFault, also when there is none. */
  async signedAct(port: PortName, txid: string): Promise<SignedAct | undefined> {
    return readSignedAct(this.name, txid, await this.object(port, 'gettransactionbyid', { value: txid }, 'block'));
  }

  /** What a port answers about a height, read by the platform's parser. Throws NodeFault. */
  async json(port: PortName, path: 'getblockbynum' | 'gettransactioninfobyblocknum', number: number): Promise<unknown> {
    return this.ask(port, `${PATHS[port]}/${path}`, { num: number }, 'block');
  }

  private async read(port: PortName, header: BlockHeader): Promise<Block> {
    let fault: NodeError | undefined;
    const isLate = monotonicMs() < this.lateUntilMs.whole;
    if (isLate) fault = new NodeError(this.name, 'timeout', 'its blocks came too late a moment ago');
    for (let attempt = 1; attempt <= ATTEMPTS && !isLate; attempt += 1) {
      try {
        const block = await this.whole(port, header.number);
        if (block?.id === header.id) return block;
        fault = new NodeError(this.name, 'nonsense', 'another block than its header was of');
      } catch (error) {
        if (!(error instanceof NodeError) || error.kind === 'throttled') throw error;
        fault = error;
        if (error.kind === 'timeout') {
          this.lateUntilMs.whole = monotonicMs() + LATE_MS;
          break;
        }
      }
    }
    return this.list(port, header, fault);
  }

  /** The block by what happened to its transactions, of which then only ids are known. */
  private async list(port: PortName, header: BlockHeader, fault: NodeError | undefined): Promise<Block> {
    if (monotonicMs() < this.lateUntilMs.list) throw this.unreadable(header, fault);
    try {
      const infos = await this.ask(
        port,
        `${PATHS[port]}/gettransactioninfobyblocknum`,
        { num: header.number },
        'block',
      );
      const block = listedBlock(this.name, header, infos);
      // Asked for by its number: the chain may have got another block there meanwhile.
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
      // Who still answers about the block is there: a proxy may cut what is large.
      if (isCut && !(await this.gives(port, header))) throw fault;
      throw this.unreadable(header, fault);
    }
  }

  private unreadable({ number }: BlockHeader, fault: NodeError | undefined): NodeError {
    return new NodeError(this.name, 'unreadable', `block ${number.toString()} cannot be read`, fault);
  }

  private async gives(port: PortName, { number, id }: BlockHeader): Promise<boolean> {
    return (await this.header(port, number).catch(unlessOfNode))?.id === id;
  }

  private async whole(port: PortName, number: number): Promise<Block | undefined> {
    const json = await this.wholeJson(port, number);
    if (Object.keys(json).length === 0) return undefined;
    const block = readBlock(this.name, json);
    if (block.number !== number) throw new NodeError(this.name, 'nonsense', 'another block than was asked for');
    this.keep(block);
    return block;
  }

  /** TRON: a lite fullnode closes `getblockbynum`, and answers `getblock` whole. */
  private async wholeJson(port: PortName, number: number): Promise<JsonObject> {
    try {
      return await this.object(port, 'getblockbynum', { num: number }, 'block');
    } catch (error) {
      if (!(error instanceof NodeError) || !NO_ANSWER.has(error.kind) || !this.hasHeaders[port]) throw error;
      return this.object(port, 'getblock', { id_or_num: number.toString(), detail: true }, 'block');
    }
  }

  /** undefined when the provider has no such endpoint; 'none' when it has no such block. */
  private async askForHeader(port: PortName, which: { id_or_num: string }): Promise<BlockHeader | 'none' | undefined>;
  private async askForHeader(port: PortName, which: object): Promise<BlockHeader | undefined>;
  private async askForHeader(port: PortName, which: { id_or_num?: string }): Promise<BlockHeader | 'none' | undefined> {
    if (monotonicMs() < this.lackingUntilMs[port]) return undefined;
    try {
      const json = await this.object(port, 'getblock', { ...which, detail: false }, 'head');
      if (which.id_or_num !== undefined && Object.keys(json).length === 0) {
        // Of one that never returned a header, an empty answer may mean that it has no such endpoint.
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
