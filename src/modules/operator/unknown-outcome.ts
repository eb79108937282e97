/**
 * For acts on money: after a lost connection it is unknown if they were booked, and a repetition must not book them twice.
 */
import { OperatorError } from '../../domain/operator-error.js';
import { isConnectionFault } from '../../platform/database/database.js';
import { databaseFaultOf, databaseFaultText } from '../../platform/database/database-fault.js';

/**
 * Returns the outcome of a booking. `option` names the booking in a repetition of the command. Throws OperatorError
 * OUTCOME_UNKNOWN after a lost connection.
 */
export async function repeatableWith<T>(option: string, booking: Promise<T>): Promise<T> {
  try {
    return await booking;
  } catch (error) {
    if (!isConnectionFault(error)) throw error;
    const says = `${databaseFaultText(databaseFaultOf(error))} It may be booked nevertheless. Repeat the command with ${option}, which books it only once.`;
    throw new OperatorError(says, 1, 'OUTCOME_UNKNOWN');
  }
}
