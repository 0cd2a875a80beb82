/**
 * Lists the animals, adds one, orders it and cancels the order.
 *
 * @returns the length of the list, the three statuses, and the message of an order of an animal that does not exist
 */
export type Flow = (baseUrl: string, key: string) => Promise<unknown[]>;
