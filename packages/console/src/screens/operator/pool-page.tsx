/** The pool's wallets, and the forecast of released capacity. */
import { useQuery } from '@tanstack/react-query';
import type { PoolShape } from '../../../../../src/modules/console/operator-shapes.js';
import { get } from '../../api/client.js';
import { grouped, shortly, trxRound } from '../../format/money.js';
import { Chart } from '../../parts/chart.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Page, Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { NAV } from '../../text/nav.js';
import { POOL } from '../../text/operating.js';

const SUN_PER_TRX = 1_000_000;
const ACTIVE = 'active';

type Wallet = PoolShape['wallets'][number];
const whole = (sun: number) => <span className="one-line">{trxRound(sun)}</span>;

const titles = POOL.columns;
const address = (text: string) => <Groups text={text} name={titles.wallet} withoutCopy isOneLine />;
const WALLETS: readonly Column<Wallet>[] = [
  {
    title: titles.wallet,
    cell: ({ address: wallet, role, read_at: at }) => (
      <>
        {address(wallet)}
        <p className="dim">{POOL.roles[role]}</p>
        {at !== undefined && (
          <p className="dim">
            {titles.read} <Moment at={at} />
          </p>
        )}
      </>
    ),
  },
  {
    title: titles.status,
    cell: ({ status, pause_reason: reason }) => (
      <>
        <Status
          tone={status === ACTIVE ? 'good' : 'warn'}
          icon={status === ACTIVE ? 'good' : 'warn'}
          word={POOL.statuses[status] ?? status}
        />
        {reason !== undefined && <p className="dim">{reason}</p>}
      </>
    ),
  },
  { title: titles.staked, cell: ({ staked_sun: sun }) => whole(sun), isFigure: true },
  { title: titles.sold, cell: ({ delegated_sun: sun }) => whole(sun), isFigure: true },
  { title: titles.free, cell: ({ free_sun: sun }) => whole(sun), isFigure: true },
  { title: titles.balance, cell: ({ balance_sun: sun }) => whole(sun), isFigure: true },
];

interface ForBandwidth extends NonNullable<Wallet['bandwidth']> {
  readonly wallet: string;
}

const BANDWIDTH: readonly Column<ForBandwidth>[] = [
  { title: titles.wallet, cell: ({ wallet }) => address(wallet) },
  { title: titles.staked, cell: ({ staked_sun: sun }) => whole(sun), isFigure: true },
  { title: titles.sold, cell: ({ delegated_sun: sun }) => whole(sun), isFigure: true },
  { title: titles.reserved, cell: ({ reserved_sun: sun }) => whole(sun), isFigure: true },
  { title: titles.free, cell: ({ free_sun: sun }) => whole(sun), isFigure: true },
];

function Bandwidth({ wallets }: Pick<PoolShape, 'wallets'>) {
  const items = wallets.flatMap(({ address: wallet, bandwidth }) =>
    bandwidth === undefined ? [] : [{ wallet, ...bandwidth }],
  );
  if (items.length === 0) return null;
  return (
    <Section title={POOL.bandwidth} note={POOL.bandwidthNote}>
      <Lines caption={POOL.bandwidth} columns={BANDWIDTH} items={items} keyOf={({ wallet }) => wallet} />
    </Section>
  );
}

const hours = POOL.forecastColumns;
const FORECAST: readonly Column<PoolShape['forecast'][number]>[] = [
  { title: hours.hour, cell: ({ hour }) => POOL.inHours(hour) },
  { title: hours.least, cell: ({ at_least_sun: sun }) => trxRound(sun), isFigure: true },
  { title: hours.most, cell: ({ at_most_sun: sun }) => trxRound(sun), isFigure: true },
  { title: hours.transactions, cell: ({ transactions }) => grouped(transactions), isFigure: true },
];

/** Shows the next four hours, then every fourth hour. */
const isShown = ({ hour }: PoolShape['forecast'][number]): boolean => hour < 4 || hour % 4 === 0;

function Coming({ forecast }: { readonly forecast: PoolShape['forecast'] }) {
  const [now, last] = [forecast.at(0), forecast.at(-1)];
  if (now === undefined || last === undefined) return null;
  const says = POOL.says(
    trxRound(now.at_least_sun),
    last.hour,
    trxRound(last.at_least_sun),
    trxRound(last.at_most_sun),
  );
  return (
    <Chart
      says={says}
      labels={forecast.map(({ hour }) => POOL.inHours(hour))}
      drawn={[
        { name: hours.most, values: forecast.map(({ at_most_sun: sun }) => sun / SUN_PER_TRX) },
        { name: hours.least, values: forecast.map(({ at_least_sun: sun }) => sun / SUN_PER_TRX) },
      ]}
      format={shortly}
    />
  );
}

export function PoolPage() {
  const pool = useQuery({ queryKey: ['pool'], queryFn: () => get<PoolShape>('/api/operator/pool') });
  return (
    <Page title={NAV.pool} lead={POOL.lead}>
      <Loaded query={pool} lines={6} isEmpty={({ wallets }) => wallets.length === 0} empty={<p>{POOL.empty}</p>}>
        {({ wallets, forecast }) => (
          <>
            <Section title={POOL.wallets}>
              <Lines caption={POOL.caption} columns={WALLETS} items={wallets} keyOf={(one) => one.address} />
            </Section>
            <Bandwidth wallets={wallets} />
            {forecast.length > 0 && (
              <Section title={POOL.forecast} note={POOL.forecastNote}>
                <Coming forecast={forecast} />
                <Lines
                  caption={POOL.forecastCaption}
                  columns={FORECAST}
                  items={forecast.filter(isShown)}
                  keyOf={({ hour }) => hour.toString()}
                />
              </Section>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
