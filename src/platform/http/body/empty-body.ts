/** A request without members: an empty object, or no body where the route allows that. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- the pipe refuses every member by it
export class EmptyBody {}
