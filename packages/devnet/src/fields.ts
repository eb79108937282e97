// Typed access to fields of a decoded message; an absent field reads as its proto3 default.
import type { Message } from './schema.js';

export function text(message: Message, name: string): string {
  const value = message[name];
  return typeof value === 'string' ? value : '';
}

export function int(message: Message, name: string): bigint {
  const value = message[name];
  return typeof value === 'bigint' ? value : 0n;
}

export function num(message: Message, name: string): number {
  const value = message[name];
  return typeof value === 'number' ? value : 0;
}

export function flag(message: Message, name: string): boolean {
  return message[name] === true;
}

export function sub(message: Message, name: string): Message | undefined {
  const value = message[name];
  return typeof value === 'object' && !isList(value) ? value : undefined;
}

/** Returns the messages of a repeated field. */
export function list(message: Message, name: string): readonly Message[] {
  const value = message[name];
  return typeof value === 'object' && isList(value) ? (value as readonly Message[]) : [];
}

/** Returns the strings (hex bytes) of a repeated field. */
export function texts(message: Message, name: string): readonly string[] {
  const value = message[name];
  return typeof value === 'object' && isList(value) ? (value as readonly string[]) : [];
}

function isList(value: object): value is readonly unknown[] {
  return Array.isArray(value);
}
