/** Reads settings, each by its form. A fault names the variable and what it wants, never the value it holds. */
import { messageOf } from '../domain/errors.js';
import { parseRate } from '../domain/conversion.js';
import { type RateE8 } from '../domain/units.js';
import { parseIpRange } from '../base/ip-range.js';
import { readSecretFile } from '../base/secret-file.js';

export type Env = Readonly<Record<string, string | undefined>>;

const SECRET_BYTES_MAX = 64 * 1024;

/** Reads one variable at a time and collects what is wrong, so that one start names every fault. */
export class SettingsReader {
  readonly faults: string[] = [];

  /** Of `secrets`, each can be given as a file instead: NAME_FILE. */
  constructor(
    private readonly env: Env,
    private readonly secrets: ReadonlySet<string>,
  ) {}

  optional(name: string): string | undefined {
    const value = this.given(name);
    const file = this.secrets.has(name) ? this.given(`${name}_FILE`) : undefined;
    if (file === undefined) return value;
    if (value !== undefined) {
      this.faults.push(`${name} and ${name}_FILE are both set: leave one of them out`);
      return undefined;
    }
    return this.fileOf(name, file);
  }

  private given(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === undefined || value === '' ? undefined : value;
  }

  private fileOf(name: string, path: string): string | undefined {
    try {
      const content = readSecretFile(path, SECRET_BYTES_MAX).toString('utf8').trim();
      if (content !== '') return content;
      this.faults.push(`${name}_FILE: ${path} is empty`);
    } catch (error) {
      this.faults.push(`${name}_FILE: ${messageOf(error)}`);
    }
    return undefined;
  }

  text(name: string, fallback?: string): string {
    const value = this.optional(name) ?? fallback;
    if (value === undefined) this.faults.push(`${name} is required`);
    return value ?? '';
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.optional(name);
    if (value === undefined) return fallback;
    const number = /^\d{1,15}$/.test(value) ? Number.parseInt(value, 10) : Number.NaN;
    if (!(number >= min && number <= max)) {
      this.faults.push(`${name} must be an integer from ${min.toString()} to ${max.toString()}`);
      return fallback;
    }
    return number;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.optional(name)?.toLowerCase();
    if (value === undefined) return fallback;
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    this.faults.push(`${name} must be true or false`);
    return fallback;
  }

  list(name: string, fallback: readonly string[]): readonly string[] {
    const value = this.optional(name);
    if (value === undefined) return Object.freeze([...fallback]);
    return Object.freeze(
      value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    );
  }

  ports(name: string, fallback: readonly string[]): readonly number[] {
    const parts = this.list(name, fallback);
    const isEach = parts.every((part) => /^[1-9]\d{0,4}$/.test(part) && Number(part) <= 65535);
    if (!isEach || parts.length === 0) this.faults.push(`${name} must hold ports from 1 to 65535`);
    return Object.freeze(parts.map(Number));
  }

  networks(name: string): readonly string[] {
    const parts = this.list(name, []);
    const isEach = parts.every((part) => parseIpRange(part) !== undefined);
    if (!isEach) this.faults.push(`${name} must hold IP addresses or CIDR ranges`);
    return parts;
  }

  urls(name: string, schemes: readonly string[], required: boolean): readonly string[] {
    const parts = this.list(name, []);
    if (required && parts.length === 0) this.faults.push(`${name} is required`);
    for (const part of parts) {
      if (!URL.canParse(part) || !schemes.includes(new URL(part).protocol)) {
        this.faults.push(`${name} must hold URLs starting with ${schemes.join(' or ')}`);
      }
    }
    return Object.freeze(parts.map((part) => part.replace(/\/+$/, '')));
  }

  url(name: string, schemes: readonly string[]): string {
    return this.urls(name, schemes, true)[0] ?? '';
  }

  /** Comma-separated, one for each of `count` things in their order, where an empty one is none; one alone is the first's. */
  each(name: string, count: number): readonly (string | undefined)[] {
    const given = this.optional(name)?.split(',') ?? [];
    if (given.length > 1 && given.length !== count) {
      this.faults.push(`${name} must hold one value, or one for each URL of TRON_FULL_NODE_URLS, empty for none`);
    }
    return Array.from({ length: count }, (_, index) => given[index]?.trim()).map((part) =>
      part === '' ? undefined : part,
    );
  }

  /** As `each`; what goes into a header must be able to stand in one. */
  keys(name: string, count: number): readonly (string | undefined)[] {
    const keys = this.each(name, count);
    if (!keys.every((key) => key === undefined || /^[\x21-\x7e]+$/.test(key))) {
      this.faults.push(`${name} must hold keys of visible ASCII characters`);
    }
    return Object.freeze(keys);
  }

  /** As `each`; 0 where there is none. */
  limits(name: string, count: number, max: number): readonly number[] {
    const limits = this.each(name, count).map((limit) =>
      /^\d{1,15}$/.test(limit ?? '0') ? Number(limit ?? '0') : Number.NaN,
    );
    if (!limits.every((limit) => limit <= max)) {
      this.faults.push(`${name} must hold integers from 0 to ${max.toString()}`);
    }
    return Object.freeze(limits);
  }

  /** `name=url,name=url` */
  namedUrls(name: string, schemes: readonly string[]): ReadonlyMap<string, string> {
    const urls = new Map<string, string>();
    for (const part of this.list(name, [])) {
      const at = part.indexOf('=');
      const url = part.slice(at + 1);
      if (at < 1 || !URL.canParse(url) || !schemes.includes(new URL(url).protocol)) {
        this.faults.push(`${name} must hold name=URL pairs, the URLs starting with ${schemes.join(' or ')}`);
      } else urls.set(part.slice(0, at), url.replace(/\/+$/, ''));
    }
    return urls;
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const value = this.optional(name) ?? fallback;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.faults.push(`${name} must be one of ${choices.join(', ')}`);
    return found ?? fallback;
  }

  key(name: string): Buffer | undefined {
    const value = this.optional(name);
    if (value === undefined) return undefined;
    const bytes = Buffer.from(value, 'base64');
    if (bytes.length !== 32 || bytes.toString('base64').replace(/=+$/, '') !== value.replace(/=+$/, '')) {
      this.faults.push(`${name} must be 32 bytes in base64 (make one: openssl rand -base64 32)`);
      return undefined;
    }
    return bytes;
  }

  /** `min-max`, both included, in sun. */
  range(name: string, fallback: string, limit: number): { readonly min: bigint; readonly max: bigint } {
    const match = /^(\d{1,15})-(\d{1,15})$/.exec(this.optional(name) ?? fallback);
    const [min, max] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
    if (min < 1 || max < min || max > limit) {
      this.faults.push(`${name} must be two integers from 1 to ${limit.toString()} as MIN-MAX`);
    }
    return Object.freeze({ min: BigInt(min), max: BigInt(max) });
  }

  rate(name: string, fallback: string): RateE8 {
    const rate = parseRate(this.optional(name) ?? fallback);
    if (rate === undefined) this.faults.push(`${name} must be a positive decimal with at most eight fraction digits`);
    return rate ?? (0n as RateE8);
  }
}
