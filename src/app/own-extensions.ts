/** The extensions that every store has, one line for each. */

export { petsExtension } from '../pets';
export { storeOrdersExtension } from '../store-orders';
