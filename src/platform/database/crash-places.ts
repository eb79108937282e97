/** Building blocks of crash points: methods of a process's parts, its statements, and the trap. */
import type { INestApplicationContext } from '@nestjs/common';
import { around, type ArgsOf, type CrashTrap, type MethodName } from '../support/crash-point.js';
import { Database } from './database.js';
import { aroundStatements } from './statement-hook.js';

/** Calls `pass` whenever the process reaches the place. */
export type Place = (app: INestApplicationContext, pass: () => void) => void;
export type Side = 'before' | 'after';

/** Returns a place at a method of one part of the process; `selectsCall` chooses the calls. */
export const method =
  <T extends object, K extends MethodName<T>>(
    side: Side,
    part: abstract new (...args: never[]) => T,
    name: K,
    selectsCall: (...args: ArgsOf<T, K>) => boolean = () => true,
  ): Place =>
  (app, pass) => {
    const call = (...args: ArgsOf<T, K>): void => {
      if (selectsCall(...args)) pass();
    };
    around(app.get(part, { strict: false }), name, { [side]: call });
  };

/** Returns a place at statements by name. `after` means after their commit. */
export const statement =
  (side: Side, ...names: readonly string[]): Place =>
  (app, pass) => {
    aroundStatements(app.get(Database, { strict: false }), names, { [side]: pass });
  };

export const each =
  (...places: readonly Place[]): Place =>
  (app, pass) => {
    for (const place of places) place(app, pass);
  };

/** Sets the trap at its point if `places` contains that point. */
export function setTrap(
  places: Readonly<Record<string, Place>>,
  app: INestApplicationContext,
  trap: CrashTrap | undefined,
): void {
  if (trap !== undefined) places[trap.point]?.(app, trap.pass);
}
