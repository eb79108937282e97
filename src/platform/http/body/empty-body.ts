/** A request without members: an empty object, or no body where the route allows that. */
// oxlint-disable-next-line typescript/no-extraneous-class -- the pipe refuses every member by it
export class EmptyBody {}
