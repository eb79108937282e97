/**
 * The table of all paths and methods, read from the controllers, so that no endpoint can be missing. Paths match
 * exactly and case-sensitively (docs/interface.md §1); Express's looser matching never decides.
 */
import { RequestMethod, type INestApplication, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import type { Scope } from '../../../domain/scopes.js';
import { BODY_LIMIT_BYTES, ROUTE_OPTIONS, type BudgetName, type RouteOptions } from './route-options.js';

export interface Route {
  readonly method: string;
  /** As declared, e.g. `/v1/orders/:key`: safe for logs and metric labels. */
  readonly pattern: string;
  readonly budget: BudgetName | undefined;
  readonly isPurchase: boolean;
  readonly acceptsMd5: boolean;
  readonly scope: Scope;
  readonly mayBeEmpty: boolean;
  readonly bodyLimitBytes: number;
  readonly isPublic: boolean;
  /** The handler method, for its metadata. */
  readonly handler: object;
}

type Methods = ReadonlyMap<string, Route>;

export class RouteTable {
  private readonly plain = new Map<string, Map<string, Route>>();
  private readonly parametric: { readonly segments: readonly string[]; readonly methods: Map<string, Route> }[] = [];

  add(route: Route): void {
    this.methodsFor(route.pattern).set(route.method, route);
  }

  /** Returns the methods of the path, or undefined for an unknown path. `path` is raw, still percent-encoded. */
  find(path: string): Methods | undefined {
    const plain = this.plain.get(path);
    if (plain !== undefined) return plain;
    const segments = path.split('/', SEGMENTS_MAX);
    return this.parametric.find((entry) => matches(entry.segments, segments))?.methods;
  }

  /** Returns every path with its methods, for tests and documentation. */
  list(): readonly Route[] {
    return [...this.plain.values(), ...this.parametric.map((entry) => entry.methods)].flatMap((methods) => [
      ...methods.values(),
    ]);
  }

  private methodsFor(pattern: string): Map<string, Route> {
    const isParametric = pattern.includes('/:');
    const known = isParametric
      ? this.parametric.find((entry) => entry.segments.join('/') === pattern)?.methods
      : this.plain.get(pattern);
    if (known !== undefined) return known;
    const methods = new Map<string, Route>();
    if (isParametric) this.parametric.push({ segments: pattern.split('/'), methods });
    else this.plain.set(pattern, methods);
    return methods;
  }
}

/** More segments than any route has. A longer path is unknown without splitting its rest. */
const SEGMENTS_MAX = 16;

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every((expected, index) => {
    const actual = segments[index] ?? '';
    return expected.startsWith(':') ? actual !== '' && isDecodable(actual) : expected === actual;
  });
}

/** A segment with broken percent-encoding matches no parameter. */
function isDecodable(segment: string): boolean {
  if (!segment.includes('%')) return true;
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

/** Reads the table from the controllers of `app`. */
export function routesOf(app: INestApplication): RouteTable {
  return routesIn(app.get(ModulesContainer, { strict: false }));
}

export function routesIn(modules: ModulesContainer): RouteTable {
  const table = new RouteTable();
  for (const module of modules.values()) {
    for (const { metatype } of module.controllers.values()) {
      if (typeof metatype === 'function') addController(table, metatype as Type);
    }
  }
  return table;
}

function addController(table: RouteTable, controller: Type): void {
  const prefix = Reflect.getMetadata(PATH_METADATA, controller) as string;
  const prototype = controller.prototype as Record<string, unknown>;
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const handler = name === 'constructor' ? undefined : prototype[name];
    if (typeof handler !== 'function') continue;
    const path = Reflect.getMetadata(PATH_METADATA, handler) as string | undefined;
    if (path === undefined) continue;
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod];
    const options = (Reflect.getMetadata(ROUTE_OPTIONS, handler) ?? {}) as RouteOptions;
    table.add({
      method,
      pattern: `/${[prefix, path]
        .flatMap((part) => part.split('/'))
        .filter(Boolean)
        .join('/')}`,
      budget: options.budget,
      isPurchase: options.isPurchase ?? false,
      acceptsMd5: options.acceptsMd5 ?? false,
      scope: options.scope ?? (method === 'GET' ? 'read' : 'manage'),
      mayBeEmpty: options.mayBeEmpty ?? false,
      bodyLimitBytes: options.bodyLimitBytes ?? BODY_LIMIT_BYTES,
      isPublic: options.isPublic ?? false,
      handler,
    });
  }
}
