// Fault injection: rules select the calls of a node that fail, the kind of failure, and its frequency. Each rule counts
// matches and firings. Holds no chain state.
import { type Block, twinOf } from './block.js';
import { endpoints } from './endpoints.js';
import { type FaultKind, type FaultSpec, isHeldBack, readFault, seededRandom } from './faults-spec.js';
import { acceptance, broadcastOf, refusal, REFUSAL_CODES } from './faults-broadcast.js';
import { aheadOf, filled, otherReceipts } from './faults-blocks.js';
import { garbageOf, onAnotherFork, withoutTransaction, wronged } from './faults-content.js';
import { type Handler, type Intercept, type Request, type Response, errorJson } from './http.js';
import { flagOf, type Json, type JsonNode, member, printJson } from './json.js';
import { NodeView } from './node-view.js';

const RULES_MAX = 1_000;
/** Requests that one `stale` rule remembers. */
const FIRST_MAX = 10_000;

interface Rule {
  readonly id: number;
  readonly spec: FaultSpec;
  readonly random: () => number;
  /** Head and solid head of every node when the rule was added. */
  readonly tops: readonly { readonly head: number; readonly solid: number }[];
  readonly shadows: Map<string, Shadow>;
  /** For `stale`: the first answer to each request. */
  readonly first: Map<string, Response>;
  seen: number;
  fired: number;
}

/** A view of a node with other heads. */
interface Shadow {
  readonly view: NodeView;
  readonly handlers: ReadonlyMap<string, Handler>;
}

interface Call {
  readonly rule: Rule;
  readonly node: number;
  readonly view: NodeView;
  readonly port: 'full' | 'solid';
  readonly request: Request;
  /** Handles the request once, even if it is called repeatedly. */
  readonly answer: () => Promise<Response>;
  readonly finalTo: () => number;
}

/** Applies a fault to a call; returns undefined if it is not applicable. */
type Act = (call: Call) => Promise<Response | 'cut' | undefined>;

export class Faults {
  private rules: Rule[] = [];
  private readonly totals = new Map<FaultKind, number>();
  private nextId = 1;
  /** The highest block that any node has called solid. */
  private finalTo = 0;

  constructor(private readonly nodes: readonly NodeView[]) {}

  /** Adds one rule from JSON. Throws RangeError with the reason. */
  add(json: JsonNode): Json {
    if (this.rules.length >= RULES_MAX) throw new RangeError(`at most ${String(RULES_MAX)} faults`);
    const spec = readFault(json, this.nodes.length);
    const id = this.nextId++;
    const tops = this.nodes.map((view) => ({ head: view.head.number, solid: view.solid.number }));
    const random = seededRandom(`${spec.seed} ${String(id)}`);
    const rule: Rule = { id, spec, random, tops, shadows: new Map(), first: new Map(), seen: 0, fired: 0 };
    this.rules.push(rule);
    return printRule(rule);
  }

  /** Removes one rule, or all; resets the totals only with `counts`. */
  clear(id: number | undefined, counts: boolean): void {
    if (counts) this.totals.clear();
    this.rules = id === undefined ? [] : this.rules.filter((rule) => rule.id !== id);
  }

  /** Counts a direct intervention in the chain. */
  count(kind: FaultKind, times = 1): void {
    if (times > 0) this.totals.set(kind, (this.totals.get(kind) ?? 0) + times);
  }

  list(): Json {
    return { faults: this.rules.map(printRule), fired: Object.fromEntries(this.totals) };
  }

  /** Returns the interceptor for every endpoint of node `node`. */
  at(node: number): Intercept {
    return async (port, request, answer) => {
      const view = this.nodes[node];
      if (view !== undefined) this.finalTo = Math.max(this.finalTo, view.solid.number);
      if (view === undefined || this.rules.length === 0) return answer();
      let made: Promise<Response> | undefined;
      const once = (): Promise<Response> => (made ??= answer());
      for (const rule of this.rules) {
        if (!isMeant(rule.spec, node, port, request)) continue;
        rule.seen += 1;
        if (rule.seen <= rule.spec.skip || isUsedUp(rule) || rule.random() >= rule.spec.rate) continue;
        // Counted before the fault is applied, so that concurrent calls cannot exceed the limit.
        rule.fired += 1;
        const result = await ACTS[rule.spec.kind]({
          rule,
          node,
          view,
          port,
          request,
          answer: once,
          finalTo: () => this.finalTo,
        });
        if (result === undefined) rule.fired -= 1;
        else {
          this.count(rule.spec.kind);
          return result;
        }
      }
      return once();
    };
  }
}

function isUsedUp({ spec, fired }: Rule): boolean {
  return spec.times !== undefined && fired >= spec.times;
}

function isMeant(spec: FaultSpec, node: number, port: 'full' | 'solid', request: Request): boolean {
  if (spec.node !== undefined && spec.node !== node) return false;
  if (spec.port !== undefined && spec.port !== port) return false;
  if (spec.detail !== undefined && flagOf(member(request.body, 'detail')) !== spec.detail) return false;
  if (spec.path === undefined) return true;
  return spec.path.endsWith('*') ? request.path.startsWith(spec.path.slice(0, -1)) : request.path === spec.path;
}

function printRule({ id, spec, seen, fired }: Rule): Json {
  return { id, ...spec, seen, fired };
}

const hold = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    // Unref: a pending delay must not keep an ending chain alive.
    setTimeout(resolve, ms).unref();
  });

const httpError = (status: number): Response => ({
  status,
  type: 'text/html;charset=iso-8859-1',
  body: `<html><body><h1>${String(status)}</h1></body></html>\n`,
});

/** TRON: RateLimiterServlet, whose refusal has the status of a success. */
const THROTTLED: Response = {
  status: 200,
  body: '{"Error":"class java.lang.IllegalAccessException : lack of computing resources"}',
};

const ACTS: Record<FaultKind, Act> = {
  'drop-before': () => Promise.resolve('cut'),
  'cut-after': async ({ answer }) => {
    await answer();
    return 'cut';
  },
  'timeout-before': async ({ rule }) => {
    await hold(rule.spec.ms);
    return 'cut';
  },
  'timeout-after': async ({ rule, answer }) => {
    await answer();
    await hold(rule.spec.ms);
    return 'cut';
  },
  'error-before': ({ rule }) => Promise.resolve(httpError(rule.spec.status)),
  'error-after': async ({ rule, answer }) => {
    await answer();
    return httpError(rule.spec.status);
  },
  throttled: () => Promise.resolve(THROTTLED),
  garbage: async ({ rule, answer }) => garbageOf(await answer(), Math.floor(rule.random() * 1_000)),
  slow: async ({ rule, answer }) => {
    await hold(rule.spec.ms);
    return answer();
  },
  refuse: ({ rule, request }) => {
    const tx = broadcastOf(request);
    return Promise.resolve(tx && refusal(request, tx, codeOf(rule)));
  },
  'lie-refused': async ({ rule, request, answer }) => {
    const tx = broadcastOf(request);
    if (tx === undefined) return undefined;
    await answer();
    return refusal(request, tx, codeOf(rule));
  },
  'lie-accepted': ({ request }) => {
    const tx = broadcastOf(request);
    return Promise.resolve(tx && acceptance(request, tx));
  },
  'accept-then-drop': async ({ rule, view, request, answer }) => {
    const tx = broadcastOf(request);
    if (tx === undefined) return undefined;
    const response = await answer();
    if (rule.spec.ms > 0) await hold(rule.spec.ms);
    const gone = await view.chain.exclusively(() => (view.chain.mempool.has(tx.id) ? view.chain.evict([tx.id]) : 0));
    return gone > 0 ? response : undefined;
  },
  behind: ({ rule, view, ...call }) =>
    fromShadow({ rule, view, ...call }, view.settings.behind + rule.spec.blocks, view.settings.solidLag),
  'head-stuck': ({ rule, view, node, ...call }) => {
    const behind = view.chain.head.number - (rule.tops[node]?.head ?? 0);
    return fromShadow({ rule, view, node, ...call }, Math.max(view.settings.behind, behind), view.settings.solidLag);
  },
  'solid-stuck': ({ rule, view, node, port, ...call }) => {
    if (port === 'full') return Promise.resolve(undefined);
    const lag = view.head.number - (rule.tops[node]?.solid ?? 0);
    const { behind, solidLag } = view.settings;
    return fromShadow({ rule, view, node, port, ...call }, behind, Math.max(solidLag, lag));
  },
  'own-fork': async ({ rule, view, answer }) => {
    const base = view.head.number - rule.spec.blocks;
    return onAnotherFork(await answer(), base, (number) => twinAt(view, base, number));
  },
  fork: async ({ rule, view, answer, finalTo }) => {
    const response = await answer();
    const { chain } = view;
    const isDone = await chain.exclusively(async () => {
      const depth = Math.min(rule.spec.blocks, chain.head.number - finalTo());
      if (depth < 1) return false;
      await chain.fork(depth, rule.spec.drop);
      return true;
    });
    return isDone ? response : undefined;
  },
  wrong: async ({ rule, answer }) => wronged(await answer(), rule.spec.wrong, rule.spec),
  ahead: ({ rule, view, port, request }) => Promise.resolve(aheadOf(view, port === 'solid', request, rule.spec.blocks)),
  hide: async ({ rule, answer }) => withoutTransaction(await answer(), rule.spec.txId),
  stale: async ({ rule, node, port, request, answer }) => {
    const question = `${String(node)} ${port} ${request.path} ${request.source}`;
    const known = rule.first.get(question);
    if (known !== undefined || isHeldBack(request.path)) return known;
    const response = await answer();
    if (rule.first.size < FIRST_MAX) rule.first.set(question, response);
    return undefined;
  },
  'other-receipts': ({ rule, view, port, request }) =>
    Promise.resolve(otherReceipts(view, port === 'solid', request, rule.spec.blocks)),
  'slow-link': async ({ rule, request, answer }) => {
    const { bytesPerSec, blockBytes } = rule.spec;
    const response = filled(await answer(), request.visible, blockBytes);
    await hold((response.body.length / Math.max(1, bytesPerSec)) * 1_000);
    return response;
  },
};

/** Returns the block of this number on a fork that leaves the chain after `base`. */
function twinAt(view: NodeView, base: number, number: number): Block | undefined {
  const { chain } = view;
  if (number > chain.head.number) return undefined;
  let last = chain.block(Math.max(0, base));
  for (let at = last.number + 1; at <= number; at += 1) last = twinOf(chain.block(at), last.id);
  return last;
}

function codeOf(rule: Rule): (typeof REFUSAL_CODES)[number] {
  const { code } = rule.spec;
  return code ?? REFUSAL_CODES[Math.floor(rule.random() * REFUSAL_CODES.length)] ?? 'OTHER_ERROR';
}

/** Answers as the node would with other heads, limited to readable past states. */
async function fromShadow(
  { rule, node, port, view, request }: Call,
  behind: number,
  solidLag: number,
): Promise<Response | undefined> {
  const { reach } = view.chain.options;
  const key = `${String(node)} ${port}`;
  let shadow = rule.shadows.get(key);
  if (shadow === undefined) {
    const other = new NodeView(view.chain, { ...view.settings });
    shadow = { view: other, handlers: endpoints(other, port === 'solid') };
    rule.shadows.set(key, shadow);
  }
  const back = Math.min(behind, reach);
  Object.assign(shadow.view.settings, view.settings, { behind: back, solidLag: Math.min(solidLag, reach - back) });
  const handler = shadow.handlers.get(request.path);
  if (handler === undefined || isHeldBack(request.path)) return undefined;
  try {
    return { status: 200, body: printJson(await handler(request)) };
  } catch (error) {
    return { status: 200, body: printJson(errorJson(error)) };
  }
}
