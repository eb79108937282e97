// The refusals of a java-tron node, each with the Java class in its answer.

/** A refusal printed as `{"Error":"class <javaClass> : <message>"}`. */
export class NodeError extends Error {
  constructor(
    readonly javaClass: string,
    message: string,
  ) {
    super(message);
  }
}

/** Returns the refusal of an actuator's validate(). */
export function validateError(message: string): NodeError {
  return new NodeError('org.tron.core.exception.ContractValidateException', message);
}

export function parseError(message: string): NodeError {
  return new NodeError('org.tron.core.services.http.JsonFormat$ParseException', message);
}

export function nullPointer(message: string): NodeError {
  return new NodeError('java.lang.NullPointerException', message);
}

export const VALIDATE_CLASS = 'org.tron.core.exception.ContractValidateException';

/** A refused broadcast: the code of `Return` and the exact message. */
export class BroadcastError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
