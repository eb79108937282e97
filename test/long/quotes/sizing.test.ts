// The cost of a transfer of the reference token: measured on the chain, or reported as not measurable.
import { openMarketOf } from '../../support/api/market-process.js';
import { TOKENS, WHO, newAddress, recordedCall, transferArgs } from '../../support/chain/quote-chain.js';
import { openQuoteFixture, until, type QuoteFixture } from '../../support/api/quote-fixture.js';
import { openSpyNode } from '../../support/nodes/spy-node.js';

let fixture: QuoteFixture;
const opened: (() => Promise<void>)[] = [];

beforeAll(async () => {
  // Its own API practically never reads the chain; the processes of each test do.
  fixture = await openQuoteFixture({ MARKET_REFRESH_SEC: '3600', SIZING_REFRESH_SEC: '86400' });
});

afterAll(() => fixture.close());

afterEach(async () => {
  fixture.node.mend();
  for (const close of opened.splice(0)) await close();
});

const WARM = BigInt(recordedCall('transfer to an existing holder').response.energy_used!);
const COLD = BigInt(recordedCall('transfer to a new holder').response.energy_used!);
const CONSTANT = 'wallet/triggerconstantcontract';

/** Opens a process's market. `forget` clears the readings of other processes. */
const openMarket = async (env: Record<string, string> = {}, forget = false) => {
  const { close, ...process } = await openMarketOf(fixture, env, forget);
  opened.push(close);
  return process;
};

const OUT_OF_TIME = JSON.stringify({
  result: {
    code: 'OTHER_ERROR',
    message: "class org.tron.core.vm.program.Program$OutOfTimeException : CPU timeout for 'JUMP' operation executing",
  },
});
const NO_CONSTANT_CALLS = JSON.stringify({
  result: { code: 'CONTRACT_VALIDATE_ERROR', message: 'this node does not support constant' },
});
const NO_BALANCE = JSON.stringify({
  result: { result: true },
  energy_used: 5,
  constant_result: ['0'.repeat(64)],
  transaction: { ret: [{}] },
});

describe('the energy of a token transfer', () => {
  const FALLBACK = { warmEnergy: 65_000n, coldEnergy: 131_000n };

  test('is the configured one without a known holder', async () => {
    const { market } = await openMarket({ SIZING_HOLDER: '' }, true);
    expect(market.current().sizing).toEqual(FALLBACK);
  });

  test('is measured as soon as a holder is learned, and the holder is shared', async () => {
    const long = { SIZING_HOLDER: '', SIZING_REFRESH_SEC: '86400' };
    const { market } = await openMarket(long, true);
    const other = await openMarket(long);
    market.learnHolder(WHO.bob);
    for (const each of [market, other.market]) {
      const sizing = await until(
        () => each.current().sizing,
        ({ warmEnergy }) => warmEnergy === WARM,
      );
      expect(sizing).toMatchObject({ warmEnergy: WARM, coldEnergy: COLD });
    }
  });

  test('is measured for a token that answers false to a transfer that succeeds', async () => {
    const { market } = await openMarket({ TOKEN_CONTRACT: TOKENS.quiet }, true);
    const { warmEnergy, coldEnergy } = market.current().sizing;
    const used = async (to: string) => {
      const call = { contract_address: TOKENS.quiet, function_selector: 'transfer(address,uint256)' };
      const asked = { ...call, owner_address: WHO.bank, parameter: transferArgs(to, 1), visible: true };
      const answer = await fetch(`${fixture.chain.fullUrl}/${CONSTANT}`, {
        method: 'POST',
        body: JSON.stringify(asked),
      });
      return BigInt(((await answer.json()) as { energy_used: number }).energy_used);
    };
    expect(warmEnergy).toBe(await used(WHO.bank));
    expect(coldEnergy).toBe(await used(newAddress()));
    expect(coldEnergy).toBeGreaterThan(warmEnergy);
    expect(market.sizingAgeSec).toBeLessThan(3600);
  });

  test('is that of a transfer that pays the fee of the token', async () => {
    const withFee = (await openMarket({ TOKEN_CONTRACT: TOKENS.taxed }, true)).market.current().sizing;
    await opened.pop()?.();
    const without = (await openMarket({ TOKEN_CONTRACT: TOKENS.strict }, true)).market.current().sizing;
    // The storage slot that receives the fees is still empty.
    expect(withFee.warmEnergy - without.warmEnergy).toBeGreaterThan(20_000n);
    expect(withFee.coldEnergy - without.coldEnergy).toBeGreaterThan(20_000n);
  });

  test('is not measured with a holder that cannot pay the fee', async () => {
    const { market: right } = await openMarket({ TOKEN_CONTRACT: TOKENS.taxed }, true);
    const { coldEnergy } = right.current().sizing;
    // Processes share their measurements, so the first one must end before the next one starts.
    await opened.pop()?.();
    const holders = { SIZING_HOLDER: `${WHO.carol},${WHO.bob}` };
    const { market } = await openMarket({ TOKEN_CONTRACT: TOKENS.taxed, ...holders }, true);
    expect(market.current().sizing.coldEnergy).toBe(coldEnergy);
  });

  test.each([
    ['the token is paused', { TOKEN_CONTRACT: TOKENS.paused }, 'paused'],
    ['every holder is blacklisted', { TOKEN_CONTRACT: TOKENS.strict, SIZING_HOLDER: WHO.carol }, 'blacklisted'],
    [
      'the only known holder cannot pay the fee',
      { TOKEN_CONTRACT: TOKENS.taxed, SIZING_HOLDER: WHO.carol },
      'no-holder',
    ],
    ['nobody is known to hold it', { TOKEN_CONTRACT: TOKENS.strict, SIZING_HOLDER: '' }, 'no-holder'],
    ['the token is not a contract', { TOKEN_CONTRACT: WHO.bob }, 'no-token'],
  ])('is not measured where %s, and the outlook tells so', async (_, env, cause) => {
    const { market } = await openMarket(env, true);
    expect(market.current().sizing).toEqual(FALLBACK);
    expect(market.sizingObstacle).toBe(cause);
    expect(market.sizingAgeSec).toBe(Number.POSITIVE_INFINITY);
  });

  test.each([
    ['run no constant calls', NO_CONSTANT_CALLS, 'no-constant-calls'],
    ['have no CPU time', OUT_OF_TIME, 'no-node'],
  ])('reports nodes that %s as the cause, until they recover', async (_, body, cause) => {
    const { market } = await openMarket({}, true);
    expect(market.sizingObstacle).toBeUndefined();
    fixture.node.fail({ kind: 'says', body }, CONSTANT);
    expect(
      await until(
        () => market.sizingObstacle,
        (obstacle) => obstacle !== undefined,
      ),
    ).toBe(cause);
    fixture.node.mend();
    expect(
      await until(
        () => market.sizingObstacle,
        (obstacle) => obstacle === undefined,
      ),
    ).toBeUndefined();
  });

  describe('while the token has a surcharge', () => {
    afterEach(async () => {
      await fixture.chain.setEnergyFactor(0);
      await fixture.chain.setParameters({ getDynamicEnergyThreshold: 5_000_000_000 });
    });

    /** Returns the energy that a node measures for a transfer with this surcharge. */
    const measuredAt = async (factor: number, to: string): Promise<bigint> => {
      await fixture.chain.setEnergyFactor(factor);
      const call = { contract_address: WHO.token, function_selector: 'transfer(address,uint256)' };
      const asked = { ...call, owner_address: WHO.bob, parameter: transferArgs(to, 1), visible: true };
      const answer = await fetch(`${fixture.chain.fullUrl}/${CONSTANT}`, {
        method: 'POST',
        body: JSON.stringify(asked),
      });
      return BigInt(((await answer.json()) as { energy_used: number }).energy_used);
    };

    test('covers the surcharge that the next maintenance period can add, and little more', async () => {
      await fixture.chain.setEnergyFactor(2000);
      const { warmEnergy, coldEnergy } = (await openMarket({}, true)).market.current().sizing;
      // One step of 20 %: 1.2 × 1.2 = 1.44.
      const [warm, cold] = [await measuredAt(4400, WHO.bob), await measuredAt(4400, newAddress())];
      expect(warmEnergy).toBeGreaterThanOrEqual(warm);
      expect(coldEnergy).toBeGreaterThanOrEqual(cold);
      expect(warmEnergy - warm).toBeLessThan(warm / 100n);
      expect(coldEnergy - cold).toBeLessThan(cold / 100n);
    });

    test('covers the highest surcharge and nothing beyond it', async () => {
      await fixture.chain.setEnergyFactor(33_000);
      const { warmEnergy } = (await openMarket({}, true)).market.current().sizing;
      const warm = await measuredAt(34_000, WHO.bob);
      expect(warmEnergy).toBeGreaterThanOrEqual(warm);
      expect(warmEnergy - warm).toBeLessThan(warm / 100n);
      await opened.pop()?.();
      await fixture.chain.setEnergyFactor(34_000);
      const highest = (await openMarket({}, true)).market.current().sizing;
      expect(highest.warmEnergy).toBe(warm);
    });

    test('covers the first step once the token has used half of the threshold', async () => {
      await fixture.chain.shareEnergy(100, 10_000_000);
      await fixture.chain.giveShared(WHO.bob);
      const env = { TOKEN_CONTRACT: TOKENS.shared, SIZING_HOLDER: fixture.chain.deployer };
      const quiet = (await openMarket(env, true)).market.current().sizing;
      await opened.pop()?.();
      await fixture.chain.setParameters({ getDynamicEnergyThreshold: Number(quiet.warmEnergy) });
      const busy = (await openMarket(env, true)).market.current().sizing;
      expect(busy.warmEnergy).toBe((quiet.warmEnergy * 12n + 9n) / 10n);
      expect(busy.coldEnergy).toBe((quiet.coldEnergy * 12n + 9n) / 10n);
    });
  });

  test('is the callers’ part for a token whose deployer pays a part', async () => {
    await fixture.chain.shareEnergy(30, 10_000_000);
    const env = { TOKEN_CONTRACT: TOKENS.shared, SIZING_HOLDER: fixture.chain.deployer };
    const { market } = await openMarket(env, true);
    const shared = market.current().sizing;
    await opened.pop()?.();
    await fixture.chain.shareEnergy(100, 10_000_000);
    const whole = (await openMarket(env, true)).market.current().sizing;
    expect(shared.warmEnergy).toBe(whole.warmEnergy - (whole.warmEnergy * 70n) / 100n);
    expect(shared.coldEnergy).toBe(whole.coldEnergy - (whole.coldEnergy * 70n) / 100n);
  });

  test('is not measured for a token that answers true and moves nothing', async () => {
    const { market } = await openMarket({ TOKEN_CONTRACT: TOKENS.boasting }, true);
    expect(market.current().sizing).toEqual(FALLBACK);
    expect(market.sizingAgeSec).toBe(Number.POSITIVE_INFINITY);
    expect(market.sizingObstacle).toBe('no-event');
  });

  test('is measured by a second node where the first one leaves events out', async () => {
    const spy = await openSpyNode(fixture.chain.fullUrl);
    opened.push(() => spy.close());
    spy.change = (path, text) => (path === CONSTANT ? text.replaceAll('"logs"', '"hidden"') : text);
    const lone = await openMarket({ TRON_FULL_NODE_URLS: spy.url }, true);
    expect(lone.market.current().sizing).toEqual(FALLBACK);
    expect(lone.market.sizingObstacle).toBe('no-event');
    const pair = await openMarket({ TRON_FULL_NODE_URLS: `${spy.url},${fixture.node.url}` }, true);
    expect(pair.market.current().sizing).toMatchObject({ warmEnergy: WARM, coldEnergy: COLD });
    expect(pair.market.sizingObstacle).toBeUndefined();
  });

  test('skips a configured holder that holds nothing', async () => {
    const { market } = await openMarket({ SIZING_HOLDER: WHO.carol }, true);
    expect(market.current().sizing).toEqual(FALLBACK);
  });

  test('keeps the configured figures for a token that is not a contract, and everything else works', async () => {
    const { market } = await openMarket({ TOKEN_CONTRACT: WHO.bob }, true);
    expect(market.current()).toMatchObject({ energyFeeSun: 100n, sizing: FALLBACK });
  });

  test.each([
    ['node answers nothing useful', '{}'],
    ['node has no CPU time for the call', OUT_OF_TIME],
  ])('stays as last measured while a %s', async (_, body) => {
    const { market } = await openMarket({ SIZING_REFRESH_SEC: '1' }, true);
    expect(market.current().sizing.warmEnergy).toBe(WARM);
    fixture.node.fail({ kind: 'says', body }, CONSTANT);
    const ages = async () =>
      until(
        () => market.sizingAgeSec,
        (ageSec) => ageSec > 4,
      );
    expect(await ages()).toBeGreaterThan(4);
    expect(market.current().sizing).toMatchObject({ warmEnergy: WARM, coldEnergy: COLD });
    fixture.node.mend();
    expect(
      await until(
        () => market.sizingAgeSec,
        (ageSec) => ageSec < 4,
      ),
    ).toBeLessThan(4);
  });

  test('stays as last measured when nobody is known to hold the token any more', async () => {
    const { market } = await openMarket({ SIZING_REFRESH_SEC: '1' }, true);
    expect(market.current().sizing.warmEnergy).toBe(WARM);
    fixture.node.fail({ kind: 'says', body: NO_BALANCE }, CONSTANT);
    await until(
      () => market.sizingAgeSec,
      (ageSec) => ageSec > 4,
    );
    expect(market.current().sizing).toMatchObject({ warmEnergy: WARM, coldEnergy: COLD });
  });
});
