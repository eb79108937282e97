// What a merchant's request costs, beside a bare handler that answers the same bytes or runs the same SQL.
import { randomBytes } from 'node:crypto';
import type autocannon from 'autocannon';
import { compare, type Load, type Row } from './measure.js';
import type { Stage, Tenant } from './stage.js';

export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
}

const CONNECTIONS = 32;
/** More than a round can use up on this machine; a bench that runs out says so by wrong answers. */
const QUOTES_PER_SEC_MAX = 4000;

function load(url: string, requests: readonly autocannon.Request[], expect: readonly number[]): Load {
  return { url, connections: CONNECTIONS, requests, expect };
}

/** Signed requests of many tenants, each sent with a key of its own. */
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
    private readonly stage: Stage,
    private readonly pace: Pace,
    private readonly bare: string,
    private readonly replayed: autocannon.Request,
    private readonly key: string,
  ) {}

  /** Takes one order, whose key serves the reads and replays, and starts the bare handlers with its answers' bytes. */
  static async open(stage: Stage, pace: Pace): Promise<HttpRows> {
    const tenant = stage.tenant(0);
    const key = `bench-${randomBytes(8).toString('hex')}`;
    const base = stage.request(tenant, 'POST', '/v1/orders', { receive_address: stage.sender, energy: 65_000 });
    const replayed = { ...base, headers: { ...base.headers, 'Idempotency-Key': key } };
    const order = await ready(stage, replayed, [200, 202]);
    const quote = await ready(
      stage,
      stage.request(tenant, 'POST', '/v1/quotes', { receive_address: stage.sender, energy: 65_000 }),
      [200],
    );
    const balance = await ready(stage, stage.request(tenant, 'GET', '/v1/balance'), [200]);
    const [leg] = await stage.database.query<{ amount_sun: bigint }>('SELECT amount_sun FROM leg LIMIT 1');
    const bare = await stage.startBare({
      amountSun: (leg?.amount_sun ?? 0n).toString(),
      bytes: { quote, order, balance },
      orderKey: { project: tenant.id, key },
    });
    return new HttpRows(stage, pace, bare, replayed, key);
  }

  async quotes(): Promise<Row[]> {
    const { stage } = this;
    const explicit = stage.tenants.map((tenant) =>
      stage.request(tenant, 'POST', '/v1/quotes', { receive_address: stage.sender, energy: 65_000 }),
    );
    const sized = stage.tenants.map((tenant) =>
      stage.request(tenant, 'POST', '/v1/quotes', { receive_address: stage.sender }),
    );
    const bare = this.bareBytes('quote', { receive_address: stage.sender, energy: 65_000 });
    return [
      await this.row('POST /v1/quotes, explicit energy', 'bare handler, same bytes', '≥ 0.60', explicit, [200], bare),
      await this.row(
        'POST /v1/quotes, sized, receiver cached',
        'bare handler, same bytes',
        '≥ 0.55',
        sized,
        [200],
        bare,
      ),
    ];
  }

  /** Receivers that nobody has asked for before: every quote reads the chain. */
  async uncachedQuotes(receivers: readonly string[]): Promise<Row> {
    let next = 0;
    const tenant = this.stage.tenant(0);
    const requests = receivers.map((receiver) =>
      this.stage.request(tenant, 'POST', '/v1/quotes', { receive_address: receiver }),
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
        return Promise.resolve(load(this.stage.apiUrl, slice, [200]));
      },
      limit: () => Promise.resolve(this.bareBytes('quote', { receive_address: this.stage.sender })),
    });
  }

  async orders(label = ''): Promise<Row[]> {
    const { stage } = this;
    const body = { receive_address: stage.sender, energy: 65_000 };
    const direct = keyed(stage.tenants.map((tenant) => stage.request(tenant, 'POST', '/v1/orders', body)));
    const hot = keyed([stage.request(stage.tenant(0), 'POST', '/v1/orders', body)]);
    return [
      await this.row(
        `POST /v1/orders, direct, 200 projects${label}`,
        'bare handler, same SQL',
        '≥ 0.70',
        direct,
        [200, 202],
        this.bareOrders(''),
      ),
      await this.quotedOrders(label),
      await this.row(
        `POST /v1/orders, direct, one hot project${label}`,
        'bare handler, same SQL on one row',
        '≥ 0.70',
        hot,
        [200, 202],
        this.bareOrders('?hot'),
      ),
    ];
  }

  async reads(): Promise<Row[]> {
    const tenant = this.stage.tenant(0);
    const get = this.stage.request(tenant, 'GET', `/v1/orders/${this.key}`);
    const balance = this.stage.request(tenant, 'GET', '/v1/balance');
    const replayBare = load(
      this.bare,
      [{ method: 'POST', path: '/bare/replay', headers: { 'Content-Type': 'application/json' }, body: '{}' }],
      [201],
    );
    return [
      await this.row(
        'GET /v1/orders/{key}',
        'bare handler + one SELECT',
        '≥ 0.70',
        [get],
        [200, 202],
        this.bareGet('orders'),
      ),
      await this.row(
        'GET /v1/balance',
        'bare handler + one SELECT',
        '≥ 0.70',
        [balance],
        [200],
        this.bareGet('balance'),
      ),
      await this.row('replay of a key', 'bare handler + one SELECT', '≥ 0.70', [this.replayed], [200, 202], replayBare),
    ];
  }

  /** Quotes are made before each round, outside the measurement, and each used once. */
  private async quotedOrders(label: string): Promise<Row> {
    return compare({
      what: `POST /v1/orders, by quote, 200 projects${label}`,
      against: 'bare handler, same SQL',
      goal: '≥ 0.70',
      ...this.pace,
      ours: async () => {
        const refs = await this.makeQuotes(QUOTES_PER_SEC_MAX * this.pace.seconds);
        let next = 0;
        // Every connection draws from the one list, so no quote is sent twice.
        const draw: autocannon.Request = {
          method: 'POST',
          path: '/v1/orders',
          setupRequest: () => {
            const drawn = refs[next];
            next += 1;
            if (drawn === undefined) throw new Error('the round used up its quotes');
            return this.stage.request(drawn.tenant, 'POST', '/v1/orders', { quote_ref: drawn.ref });
          },
        };
        return load(this.stage.apiUrl, [draw], [200, 202]);
      },
      limit: () => Promise.resolve(this.bareOrders('?quote')),
    });
  }

  private async makeQuotes(count: number): Promise<{ tenant: Tenant; ref: string }[]> {
    const made: { tenant: Tenant; ref: string }[] = [];
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < count) {
        const tenant = this.stage.tenant(next);
        next += 1;
        const body = { receive_address: this.stage.sender, energy: 65_000 };
        const { status, text } = await this.stage.send(this.stage.request(tenant, 'POST', '/v1/quotes', body));
        if (status !== 200) throw new Error(`a quote was answered ${status.toString()}: ${text}`);
        made.push({ tenant, ref: (JSON.parse(text) as { ref: string }).ref });
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, lane));
    return made;
  }

  private bareBytes(name: string, body: object): Load {
    const request = {
      method: 'POST' as const,
      path: `/bare/bytes/${name}`,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    };
    return load(this.bare, [request], [200]);
  }

  private bareOrders(query: string): Load {
    const request = {
      method: 'POST' as const,
      path: `/bare/orders${query}`,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ receive_address: this.stage.sender, energy: 65_000 }),
    };
    return load(this.bare, [request], [202]);
  }

  private bareGet(name: string): Load {
    return load(this.bare, [{ method: 'GET', path: `/bare/${name}` }], [200]);
  }

  private async row(
    what: string,
    against: string,
    goal: string,
    ours: readonly autocannon.Request[],
    expect: readonly number[],
    limit: Load,
  ): Promise<Row> {
    return compare({
      what,
      against,
      goal,
      ...this.pace,
      ours: () => Promise.resolve(load(this.stage.apiUrl, ours, expect)),
      limit: () => Promise.resolve(limit),
    });
  }
}

/** Sends until the service answers as expected: the market or the pool may not be known yet. */
async function ready(stage: Stage, request: autocannon.Request, expect: readonly number[]): Promise<string> {
  for (let attempt = 0; ; attempt += 1) {
    const { status, text } = await stage.send(request);
    if (expect.includes(status)) return text;
    if (attempt > 60) throw new Error(`${request.path ?? ''} was answered ${status.toString()}: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
