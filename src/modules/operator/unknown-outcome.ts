/** For acts on money: a lost connection leaves it open if they were booked, and a repetition must not book them twice. */
import { OperatorError } from '../../domain/operator-error.js';
import { isConnectionFault } from '../../platform/database/database.js';
import { databaseFaultOf, databaseFaultText } from '../../platform/database/database-fault.js';

/** Returns the outcome of a booking. `option` names the booking in a repetition of the command. */
export async function repeatableWith<T>(option: string, booking: Promise<T>): Promise<T> {
  try {
    return await booking;
  } catch (error) {
    if (!isConnectionFault(error)) throw error;
    const says = `${databaseFaultText(databaseFaultOf(error))} It may be booked nevertheless. Repeat the command with ${option}: so it is booked only once.`;
    throw new OperatorError(says, 1, 'OUTCOME_UNKNOWN');
  }
}
