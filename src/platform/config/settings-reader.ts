/** Reads settings from an environment, or from files named in it. A fault names the variable, never its value. */
import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { readSecretFile } from '../support/secret-file.js';
import { messageOf } from '../../domain/errors.js';
import { namesIn } from './setting.js';

export type Env = Readonly<Record<string, string | undefined>>;

const SECRET_BYTES_MAX = 64 * 1024;

/** Collects faults, so that one start reports all of them. */
export class SettingsReader {
  readonly faults: string[] = [];

  /** Each setting in `secrets` can come from a file instead: NAME_FILE. */
  constructor(
    private readonly env: Env,
    private readonly secrets: ReadonlySet<string>,
  ) {}

  /**
   * Reads the settings that a class declares with the decorators of setting.ts. Adds the first fault of each to
   * `faults`.
   */
  read<T extends object>(type: Type<T>): Readonly<T> {
    const texts = Object.fromEntries(namesIn(type).map((name) => [name, this.optional(name)]));
    const settings = plainToInstance(type, texts, { excludeExtraneousValues: true });
    for (const { property, constraints } of validateSync(settings, { stopAtFirstError: true })) {
      this.faults.push(...Object.values(constraints ?? {}).slice(0, 1));
      // An invalid value must not be used.
      Reflect.set(settings, property, undefined);
    }
    return Object.freeze(settings);
  }

  optional(name: string): string | undefined {
    const value = this.given(name);
    const file = this.secrets.has(name) ? this.given(`${name}_FILE`) : undefined;
    if (file === undefined) return value;
    if (value !== undefined) {
      this.faults.push(`${name} and ${name}_FILE are both set; keep only one of them`);
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
}
