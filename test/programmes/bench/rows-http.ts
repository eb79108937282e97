// The cost of a merchant's request, next to a bare handler that answers the same bytes or runs the same SQL.
import { randomBytes } from 'node:crypto';
import type autocannon from 'autocannon';
import { compare, type Load, type Row } from './measure.js';
import { hasPgbench, pgbenchOrders } from './pgbench.js';
import type { BenchCluster, Tenant } from './cluster.js';

export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
}

interface Quoted {
  readonly tenant: Tenant;
  readonly ref: string;
}

const CONNECTIONS = 32;
/** More than a round can consume on this machine; running out fails the bench by wrong answers. */
const QUOTES_PER_SEC_MAX = 4000;

function load(url: string, requests: readonly autocannon.Request[], expect: readonly number[]): Load {
  return { url, connections: CONNECTIONS, requests, expect };
}

/** Returns signed requests of many tenants, each sent with a new key. */
function keyed(requests: readonly autocannon.Request[]): autocannon.Request[] {
  return requests.map((request) => ({
    ...request,
    setupRequest: (made: autocannon.Request) => ({
      ...made,
      headers: { ...made.headers, 'Idempotency-Key': randomBytes(16).toString('base64url') },
    }),
  }));
}

export class HttpRows {
  private constructor(
    private readonly cluster: BenchCluster,
    private readonly pace: Pace,
    private readonly bare: string,
    private readonly replayed: autocannon.Request,
    private readonly key: string,
    private readonly amountSun: string,
  ) {}

  /**
   * Places one order, whose key serves reads and replays, and starts the bare handlers with the bytes of its answers.
   */
  static async open(cluster: BenchCluster, pace: Pace): Promise<HttpRows> {
    const tenant = cluster.tenant(0);
    const key = `bench-${randomBytes(8).toString('hex')}`;
    const base = cluster.request(tenant, 'POST', '/v1/orders', { receive_address: cluster.sender, energy: 65_000 });
    const replayed = { ...base, headers: { ...base.headers, 'Idempotency-Key': key } };
    const order = await ready(cluster, replayed, [200, 202]);
    const quote = await ready(
      cluster,
      cluster.request(tenant, 'POST', '/v1/quotes', { receive_address: cluster.sender, energy: 65_000 }),
      [200],
    );
    const balance = await ready(cluster, cluster.request(tenant, 'GET', '/v1/balance'), [200]);
    const [leg] = await cluster.database.query<{ amount_sun: bigint }>('SELECT amount_sun FROM leg LIMIT 1');
    const amountSun = (leg?.amount_sun ?? 0n).toString();
    const bare = await cluster.startBare({
      amountSun,
      bytes: { quote, order, balance },
      orderKey: { project: tenant.id, key },
    });
    return new HttpRows(cluster, pace, bare, replayed, key, amountSun);
  }

  async quotes(): Promise<Row[]> {
    const explicit = this.quotesOf({ energy: 65_000 });
    const sized = this.quotesOf({});
    const against = 'bare handler, same bytes';
    const bytes = { against, path: '/bare/bytes/quote', status: 200 };
    return [
      await this.row('POST /v1/quotes, explicit energy', '≥ 0.60', explicit, [200], bytes),
      await this.row('POST /v1/quotes, sized, receiver cached', '≥ 0.60', sized, [200], bytes),
    ];
  }

  /** Uses new receivers, so that every quote reads the chain. */
  async uncachedQuotes(receivers: readonly string[]): Promise<Row> {
    let next = 0;
    const tenant = this.cluster.tenant(0);
    const requests = receivers.map((receiver) =>
      this.cluster.request(tenant, 'POST', '/v1/quotes', { receive_address: receiver }),
    );
    const perRound = Math.floor(requests.length / (this.pace.rounds + 1));
    return compare({
      what: 'POST /v1/quotes, sized, receiver not cached',
      against: 'bare handler, same bytes',
      goal: '–',
      ...this.pace,
      ours: () => {
        const slice = requests.slice(next, next + perRound);
        next += perRound;
        return Promise.resolve(load(this.cluster.apiUrl, slice, [200]));
      },
      limit: () => Promise.resolve(this.bareLoad(requests.slice(0, perRound), '/bare/bytes/quote', 200)),
    });
  }

  async orders(): Promise<Row[]> {
    const oneRow = { against: 'bare handler, same SQL on one row', path: '/bare/orders?hot', status: 202 };
    const sameSql = { against: 'bare handler, same SQL', path: '/bare/orders', status: 202 };
    return [
      await this.row('POST /v1/orders, direct, 200 projects', '≥ 0.55', this.direct(), [200, 202], sameSql),
      await compare({
        what: 'POST /v1/orders, by quote, 200 projects',
        against: 'bare handler, same SQL',
        goal: '≥ 0.55',
        ...this.pace,
        ours: () => this.byQuote(),
        limit: async () => {
          const [quoted] = await this.makeQuotes(1);
          if (quoted === undefined) throw new Error('no quote was made');
          return load(this.bare, [this.purchase(() => quoted, '/bare/orders?quote')], [202]);
        },
      }),
      await this.row('POST /v1/orders, direct, one hot project', '≥ 0.55', this.hot(), [200, 202], oneRow),
    ];
  }

  /** Measures the order rows of this cluster against another cluster's, alternating. */
  async ordersAgainst(other: HttpRows, label: string, against: string, goal: string): Promise<Row[]> {
    const beside = async (what: string, work: (rows: HttpRows) => Promise<Load>): Promise<Row> =>
      compare({ what: what + label, against, goal, ...this.pace, ours: () => work(this), limit: () => work(other) });
    const created = (rows: HttpRows, requests: autocannon.Request[]) =>
      Promise.resolve(load(rows.cluster.apiUrl, requests, [200, 202]));
    return [
      await beside('POST /v1/orders, direct, 200 projects', (rows) => created(rows, rows.direct())),
      await beside('POST /v1/orders, by quote, 200 projects', (rows) => rows.byQuote()),
      await beside('POST /v1/orders, direct, one hot project', (rows) => created(rows, rows.hot())),
    ];
  }

  /** Measures quotes, reads and a replay of this cluster against another build's, alternating. */
  async requestsAgainst(other: HttpRows, against: string): Promise<Row[]> {
    const rows: Row[] = [];
    for (const [what, goal, requests] of [
      ['POST /v1/quotes, explicit energy', '≥ 2.00', (of: HttpRows) => of.quotesOf({ energy: 65_000 })],
      ['POST /v1/quotes, sized, receiver cached', '≥ 2.00', (of: HttpRows) => of.quotesOf({})],
      ['GET /v1/orders/{key}', '≥ 1.30', (of: HttpRows) => [of.get(`/v1/orders/${of.key}`)]],
      ['GET /v1/balance', '≥ 1.30', (of: HttpRows) => [of.get('/v1/balance')]],
      ['replay of a key', '≥ 1.50', (of: HttpRows) => [of.replayed]],
    ] as const) {
      const answered = (of: HttpRows) => Promise.resolve(load(of.cluster.apiUrl, requests(of), [200, 202]));
      rows.push(
        await compare({ what, against, goal, ...this.pace, ours: () => answered(this), limit: () => answered(other) }),
      );
    }
    return rows;
  }

  private quotesOf(more: object): autocannon.Request[] {
    const { cluster } = this;
    return cluster.tenants.map((tenant) =>
      cluster.request(tenant, 'POST', '/v1/quotes', { receive_address: cluster.sender, ...more }),
    );
  }

  private get(path: string): autocannon.Request {
    return this.cluster.request(this.cluster.tenant(0), 'GET', path);
  }

  /** Measures the reference of the order rows against the database alone. Returns nothing without pgbench. */
  async limitOfOrders(): Promise<Row[]> {
    if (!(await hasPgbench())) return [];
    const { cluster, amountSun } = this;
    const orders = {
      databaseUrl: cluster.service.databaseUrl,
      projects: cluster.tenants.map((tenant) => tenant.id),
      receiver: cluster.sender,
      amountSun,
    };
    const row = await compare({
      what: 'that bare handler of orders, 200 projects',
      against: 'pgbench, same statement, 14 clients',
      goal: '–',
      ...this.pace,
      ours: () => Promise.resolve(this.bareLoad(this.direct(), '/bare/orders', 202)),
      limit: () => Promise.resolve((seconds) => pgbenchOrders(orders, seconds)),
    });
    return [row];
  }

  async reads(): Promise<Row[]> {
    const get = this.get(`/v1/orders/${this.key}`);
    const balance = this.get('/v1/balance');
    const select = { against: 'bare handler + one SELECT', status: 200 };
    const order = { ...select, path: '/bare/orders' };
    const credits = { ...select, path: '/bare/balance' };
    const replay = { ...select, path: '/bare/replay', status: 201 };
    return [
      await this.row('GET /v1/orders/{key}', '≥ 1.00', [get], [200, 202], order),
      await this.row('GET /v1/balance', '≥ 1.00', [balance], [200], credits),
      await this.row('replay of a key', '≥ 1.00', [this.replayed], [200, 202], replay),
    ];
  }

  private direct(): autocannon.Request[] {
    return keyed(this.cluster.tenants.map((tenant) => this.order(tenant)));
  }

  private hot(): autocannon.Request[] {
    return keyed([this.order(this.cluster.tenant(0))]);
  }

  private order(tenant: Tenant): autocannon.Request & { headers: Record<string, string> } {
    return this.cluster.request(tenant, 'POST', '/v1/orders', { receive_address: this.cluster.sender, energy: 65_000 });
  }

  /** Creates the quotes before each round, outside the measurement; each is used once. */
  private async byQuote(): Promise<Load> {
    const refs = await this.makeQuotes(QUOTES_PER_SEC_MAX * this.pace.seconds);
    let next = 0;
    // All connections draw from one list, so no quote is sent twice.
    const draw = (): Quoted => {
      const drawn = refs[next];
      next += 1;
      if (drawn === undefined) throw new Error('the round used up its quotes');
      return drawn;
    };
    return load(this.cluster.apiUrl, [this.purchase(draw, '/v1/orders')], [200, 202]);
  }

  /** Returns a request that is rebuilt for each sending. */
  private purchase(draw: () => Quoted, path: string): autocannon.Request {
    return {
      method: 'POST',
      path,
      setupRequest: () => {
        const { tenant, ref } = draw();
        return { ...this.cluster.request(tenant, 'POST', '/v1/orders', { quote_ref: ref }), path };
      },
    };
  }

  private async makeQuotes(count: number): Promise<Quoted[]> {
    const made: Quoted[] = [];
    let next = 0;
    const makeSome = async (): Promise<void> => {
      while (next < count) {
        const tenant = this.cluster.tenant(next);
        next += 1;
        const body = { receive_address: this.cluster.sender, energy: 65_000 };
        const { status, text } = await this.cluster.send(this.cluster.request(tenant, 'POST', '/v1/quotes', body));
        if (status !== 200) throw new Error(`a quote was answered ${status.toString()}: ${text}`);
        made.push({ tenant, ref: (JSON.parse(text) as { ref: string }).ref });
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, makeSome));
    return made;
  }

  /** Returns the same requests as for the service, so that building and sending them costs the same. */
  private bareLoad(requests: readonly autocannon.Request[], path: string, status: number): Load {
    return load(
      this.bare,
      requests.map((request) => ({ ...request, path })),
      [status],
    );
  }

  private async row(
    what: string,
    goal: string,
    ours: readonly autocannon.Request[],
    expect: readonly number[],
    bare: { readonly against: string; readonly path: string; readonly status: number },
  ): Promise<Row> {
    return compare({
      what,
      against: bare.against,
      goal,
      ...this.pace,
      ours: () => Promise.resolve(load(this.cluster.apiUrl, ours, expect)),
      limit: () => Promise.resolve(this.bareLoad(ours, bare.path, bare.status)),
    });
  }
}

/** Sends until the service answers as expected: it may not have read the market or the pool yet. */
async function ready(cluster: BenchCluster, request: autocannon.Request, expect: readonly number[]): Promise<string> {
  for (let attempt = 0; ; attempt += 1) {
    const { status, text } = await cluster.send(request);
    if (expect.includes(status)) return text;
    if (attempt > 60) throw new Error(`${request.path ?? ''} was answered ${status.toString()}: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
