// Four exchanges that quote the TRX price. On request, half of them agree on a wrong price while the others are down.
import { createServer } from 'node:http';

export interface Exchanges {
  /** In the format of RATE_SOURCE_URLS. */
  readonly urls: string;
  /** Wrong prices sent so far. */
  readonly liesSent: number;
  collude(isOn: boolean): void;
  close(): Promise<void>;
}

/** In dollars; close to the service's fallback, with which it compares every price. */
export const TRUE_PRICE = 0.3;
const LIE = TRUE_PRICE / 10_000;

const BODIES: Readonly<Record<string, (price: string) => object>> = {
  binance: (price) => ({ symbol: 'TRXUSDT', price }),
  coinbase: (amount) => ({ data: { amount, base: 'TRX', currency: 'USD' } }),
  kraken: (price) => ({ error: [], result: { TRXUSD: { c: [price, '1'] } } }),
  okx: (last) => ({ code: '0', msg: '', data: [{ instId: 'TRX-USDT', last }] }),
};
const COLLUDERS = new Set(['binance', 'coinbase']);

export async function openExchanges(): Promise<Exchanges> {
  let isColluding = false;
  let lies = 0;
  const servers = Object.entries(BODIES).map(([name, bodyOf]) => ({
    name,
    server: createServer((_request, response) => {
      if (isColluding && !COLLUDERS.has(name)) {
        response.destroy();
        return;
      }
      if (isColluding) lies += 1;
      const price = (isColluding ? LIE : TRUE_PRICE).toFixed(8);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(bodyOf(price)));
    }),
  }));
  const urls: string[] = [];
  for (const { name, server } of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('an exchange has no port');
    urls.push(`${name}=http://127.0.0.1:${address.port.toString()}`);
  }
  return {
    urls: urls.join(','),
    get liesSent() {
      return lies;
    },
    collude: (isOn) => {
      isColluding = isOn;
    },
    close: async () => {
      for (const { server } of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}
