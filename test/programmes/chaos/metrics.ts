// Checks the processes' metrics during chaos against the table in docs/metrics.md. Every documented metric must appear
// on every process of its role, with the right kind and plausible values; undocumented metrics must not appear.
import { documentedMetrics } from '../../support/docs/metrics-page.js';

export type Role = 'api' | 'worker';

interface Documented {
  readonly name: string;
  readonly kind: string;
  readonly roles: readonly Role[];
  /** The description requires the value 0. */
  readonly mustBeZero: boolean;
}

interface Seen {
  readonly kinds: Set<string>;
  /** Number of values read, over all series. */
  values: number;
}

/** Anomalies of one process in its last reading. */
interface Reading {
  readonly role: Role;
  readonly notZero: Set<string>;
  /** Metrics that were NaN or infinite: no value yet. */
  readonly unknown: Set<string>;
}

export interface MetricsVerdict {
  readonly documented: number;
  readonly seen: number;
  readonly faults: readonly string[];
  /** Exposed by a process, but without a value, because no such event occurred. */
  readonly silent: readonly string[];
}

/** prom-client's own metrics. */
const BUILT_IN = /^(nodejs|process)_/;
const READ_LIMIT_MS = 2_000;
const TYPE_LINE = /^# TYPE (\S+) (\S+)$/;
const VALUE_LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$/;

export class MetricsWatch {
  private readonly seen: Readonly<Record<Role, Map<string, Seen>>> = { api: new Map(), worker: new Map() };
  private readonly faults = new Set<string>();
  /** The last reading of each process, by port. */
  private readonly lastReadings = new Map<number, Reading>();

  private constructor(private readonly table: readonly Documented[]) {}

  static open(): MetricsWatch {
    const table = documentedMetrics()
      .filter(({ process }) => ['api', 'worker', 'both'].includes(process))
      .map(({ name, process, kind, meaning }) => ({
        name,
        kind,
        roles: process === 'both' ? (['api', 'worker'] as const) : [process as Role],
        mustBeZero: /must (be|stay) 0/.test(meaning),
      }));
    if (table.length === 0) throw new Error('docs/metrics.md lists no metric');
    return new MetricsWatch(table);
  }

  /** Reads one process; skips it while it is down, stopped or starting. */
  async look(role: Role, port: number): Promise<void> {
    const text = await fetch(`http://127.0.0.1:${port.toString()}/metrics`, {
      signal: AbortSignal.timeout(READ_LIMIT_MS),
    })
      .then(async (response) => (response.ok ? response.text() : undefined))
      .catch(() => undefined);
    if (text === undefined) return;
    const reading: Reading = { role, notZero: new Set(), unknown: new Set() };
    for (const line of text.split('\n')) this.read(line, reading);
    this.lastReadings.set(port, reading);
  }

  /** Discards the readings of a closed environment. */
  forgetProcesses(): void {
    this.lastReadings.clear();
  }

  /**
   * Returns the verdict on the whole run. `settled`: the last readings were taken after all was healed and finished.
   * `excused`: metrics that count deliberate actions.
   */
  verdict(settled: boolean, excused: ReadonlySet<string> = new Set()): MetricsVerdict {
    const faults = new Set(this.faults);
    const silent: string[] = [];
    let whole = 0;
    for (const { name, kind, roles } of this.table) {
      const missing = roles.filter((role) => !this.seen[role].has(name));
      const kinds = new Set(roles.flatMap((role) => [...(this.seen[role].get(name)?.kinds ?? [])]));
      for (const role of missing) faults.add(`${name} was never seen on the ${role}`);
      for (const other of kinds) if (other !== kind) faults.add(`${name} is a ${other}, not a ${kind}`);
      const values = roles.reduce((sum, role) => sum + (this.seen[role].get(name)?.values ?? 0), 0);
      if (missing.length === 0 && values === 0) silent.push(name);
      if (missing.length === 0 && values > 0) whole += 1;
    }
    for (const role of ['api', 'worker'] as const) {
      for (const name of this.seen[role].keys()) {
        const isKnown = this.table.some((row) => row.name === name && row.roles.includes(role));
        if (!isKnown && !BUILT_IN.test(name)) faults.add(`${name} of the ${role} is not documented`);
      }
    }
    if (settled) for (const fault of this.faultsInTheEnd(excused)) faults.add(fault);
    return { documented: this.table.length, seen: whole, faults: [...faults], silent };
  }

  /** Returns the anomalies in the last reading of each process, which a `settled` verdict counts as faults. */
  faultsInTheEnd(excused: ReadonlySet<string>): readonly string[] {
    const readings = [...this.lastReadings.values()];
    const nonZero = [...new Set(readings.flatMap(({ notZero }) => [...notZero]))]
      .filter((name) => !excused.has(name))
      .map((name) => `${name} is not 0 in the end`);
    // A process that has just started, or never had the turn, exposes no age; one process of its role must.
    const unknown = readings.flatMap(({ role, unknown: names }) =>
      [...names]
        .filter((name) => readings.every((other) => other.role !== role || other.unknown.has(name)))
        .map((name) => `${name} is no number on any ${role} in the end`),
    );
    return [...nonZero, ...unknown];
  }

  private read(line: string, { role, notZero, unknown }: Reading): void {
    const [, typed, kind = ''] = TYPE_LINE.exec(line) ?? [];
    if (typed !== undefined) {
      this.of(role, typed).kinds.add(kind);
      return;
    }
    const [, series, , text = ''] = VALUE_LINE.exec(line) ?? [];
    if (series === undefined) return;
    const name = this.seen[role].has(series) ? series : series.replace(/_(bucket|sum|count)$/, '');
    this.of(role, name).values += 1;
    const row = this.table.find((one) => one.name === name);
    if (row === undefined) return;
    const value = Number(text);
    if (!Number.isFinite(value)) {
      unknown.add(name);
      return;
    }
    // Values must not be negative, except credit differences, which have either sign.
    if (value < 0 && !row.mustBeZero) this.faults.add(`${series} was ${text} on the ${role}`);
    if (row.mustBeZero && value !== 0) notZero.add(name);
  }

  private of(role: Role, name: string): Seen {
    let seen = this.seen[role].get(name);
    if (seen === undefined) {
      seen = { kinds: new Set(), values: 0 };
      this.seen[role].set(name, seen);
    }
    return seen;
  }
}
