// The control port: interventions of a test or experiment that no client of a real node could make.
import { type Handler, Port, passThrough } from './http.js';
import type { Chain } from './chain.js';
import { endpoints } from './endpoints.js';
import { FACTOR_MAX, contractAt, energyStateAt, energyStateEntry } from './contract-store.js';
import { type Json, type JsonNode, integerOf, member, textOf, flagOf } from './json.js';
import { parametersAt, totalsAt } from './parameters.js';
import type { Faults } from './faults.js';
import { type NodeView, saveInternalOf } from './node-view.js';
import { addressFrom, tokenHandlers } from './token-acts.js';
import { txOfHex } from './transactions.js';

const MINE_MAX = 10_000;
const ENERGY_WEIGHT_MAX = 10n ** 12n;

export interface Control {
  readonly chain: Chain;
  readonly nodes: readonly NodeView[];
  readonly faults: Faults;
  /** Serialises the whole chain as JSON for a later load. */
  readonly dump: () => string;
}

function headOf(chain: Chain): Json {
  return { head: chain.head.number, blockID: chain.head.id, pending: chain.mempool.size, forks: chain.forks };
}

function faultHandlers(faults: Faults): Record<string, Handler> {
  return {
    faults: ({ body }) => {
      const several = member(body, 'faults');
      if (several?.kind === 'array') return { added: several.items.map((item) => faults.add(item)) };
      return body.kind === 'object' && body.fields.size === 0 ? faults.list() : faults.add(body);
    },
    'faults/clear': ({ body }) => {
      const id = integerOf(member(body, 'id'));
      faults.clear(id === undefined ? undefined : Number(id), flagOf(member(body, 'counts')));
      return faults.list();
    },
  };
}

async function setEnergyWeight(chain: Chain, body: Parameters<Handler>[0]['body']): Promise<Json> {
  const { ENERGY: before } = totalsAt(chain.store);
  const percent = integerOf(member(body, 'percent'));
  const trx = integerOf(member(body, 'trx')) ?? (percent === undefined ? undefined : (before * percent) / 100n);
  if (trx === undefined || trx < 1n || trx > ENERGY_WEIGHT_MAX) {
    throw new RangeError('give trx, or percent of what it is: the result from 1 to 10^12');
  }
  await chain.setEnergyWeight(trx);
  return { before, after: trx };
}

/** Sets a contract's dynamic energy factor and fixes or releases it. Omitted members stay unchanged. */
async function setEnergyFactor(chain: Chain, body: JsonNode): Promise<Json> {
  const address = addressFrom(body, 'address');
  if (contractAt(chain.store, address) === undefined) throw new RangeError('no such contract');
  const now = energyStateAt(chain.store, address, chain.cycle);
  const hold = member(body, 'hold');
  const factor = integerOf(member(body, 'energy_factor')) ?? (hold === undefined ? 0n : now.factor);
  if (factor < 0n || factor > FACTOR_MAX) throw new RangeError(`energy_factor must be from 0 to ${String(FACTOR_MAX)}`);
  const isHeld = hold === undefined ? now.isHeld === true : flagOf(hold);
  await chain.setValue(energyStateEntry(address, { ...now, factor, isHeld }));
  return { energy_factor: factor, hold: isHeld };
}

/** Moves a node's heads, or changes the receipts that it stores. */
function setNode(chain: Chain, nodes: readonly NodeView[], body: Parameters<Handler>[0]['body']): Json {
  const view = nodes[Number(integerOf(member(body, 'index')) ?? 0n)];
  if (view === undefined) throw new RangeError('no such node');
  const given = (name: 'behind' | 'solidLag'): number =>
    Number(integerOf(member(body, name)) ?? BigInt(view.settings[name]));
  const [behind, solidLag] = [given('behind'), given('solidLag')];
  if (behind < 0 || solidLag < 0 || behind + solidLag > chain.options.reach)
    throw new RangeError(`behind and solidLag must be 0 or more and sum to at most ${String(chain.options.reach)}`);
  const saveInternal = saveInternalOf(textOf(member(body, 'saveInternal')) ?? view.settings.saveInternal);
  Object.assign(view.settings, { behind, solidLag, saveInternal });
  return { ...view.settings };
}

/** Makes one block for each entry: its minimum time, and transactions in hex as `broadcasthex` takes them. */
async function mineEach(chain: Chain, entries: readonly JsonNode[]): Promise<Json> {
  if (entries.length > MINE_MAX) throw new RangeError(`blocks must be at most ${String(MINE_MAX)}`);
  const made: Json[] = [];
  for (const entry of entries) {
    const given = member(entry, 'transactions');
    const transactions = given?.kind === 'array' ? given.items.map((item) => txOfHex(textOf(item) ?? '')) : [];
    const block = await chain.mineFrom(Number(integerOf(member(entry, 'timestamp')) ?? 0n), transactions);
    const fees = transactions.map(({ id }) => chain.included.get(id)?.receipt.fee ?? 0n);
    made.push({ number: block.number, blockID: block.id, timestamp: block.timeMs, fees });
  }
  return { ...(headOf(chain) as Record<string, Json>), blocks: made };
}

/** Returns the control port's handlers by path. Errors are `{"Error": …}`, as at a node. */
function controlHandlers({ chain, nodes, faults, dump }: Control): Map<string, Handler> {
  const table: Record<string, Handler> = {
    status: () => ({
      ...(headOf(chain) as Record<string, Json>),
      nodes: nodes.map((n) => ({ head: n.head.number, solid: n.solid.number, ...n.settings })),
    }),
    mine: async ({ body }) => {
      const blocks = member(body, 'blocks');
      if (blocks?.kind === 'array') return mineEach(chain, blocks.items);
      const count = Number(integerOf(member(body, 'count')) ?? 1n);
      if (count < 1 || count > MINE_MAX) throw new RangeError(`count must be from 1 to ${String(MINE_MAX)}`);
      for (let i = 0; i < count; i++) await chain.mine();
      return headOf(chain);
    },
    fork: async ({ body }) => {
      const { dropped } = await chain.fork(
        Number(integerOf(member(body, 'depth')) ?? 1n),
        flagOf(member(body, 'drop')),
      );
      faults.count('fork');
      return { ...(headOf(chain) as Record<string, Json>), dropped: dropped.map((b) => b.id) };
    },
    evict: async ({ body }) => {
      const ids = member(body, 'ids');
      const list = ids?.kind === 'array' ? ids.items.map((i) => textOf(i) ?? '') : null;
      const evicted = await chain.evict(list);
      faults.count('accept-then-drop', evicted);
      return { evicted };
    },
    parameters: async ({ body }) => {
      const change: Record<string, bigint> = {};
      if (body.kind === 'object')
        for (const name of body.fields.keys()) {
          if (parametersAt(chain.store)[name] === undefined) throw new RangeError(`${name} is no chain parameter`);
          change[name] = integerOf(member(body, name)) ?? 0n;
        }
      await chain.setParameters(change);
      return { set: change };
    },
    'energy-weight': ({ body }) => setEnergyWeight(chain, body),
    contract: ({ body }) => setEnergyFactor(chain, body),
    node: ({ body }) => setNode(chain, nodes, body),
    ...faultHandlers(faults),
    ...(nodes[0] === undefined ? {} : tokenHandlers(nodes[0])),
    dump: () => ({ state: dump() }),
  };
  const [first] = nodes;
  return new Map([
    // The first node's own endpoints, unaffected by faults, for tests that need the true state.
    ...(first === undefined ? [] : endpoints(first, false)),
    ...Object.entries(table).map(([path, handler]): [string, Handler] => [
      path,
      (request) => chain.exclusively(() => handler(request)),
    ]),
  ]);
}

export function controlPort(control: Control): Port {
  return new Port('full', controlHandlers(control), () => passThrough);
}
