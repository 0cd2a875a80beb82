/** The extensions that every store has, one line for each. */

export { keyExtension } from '../key';
export { mcpExtension } from '../mcp';
export { petsExtension } from '../pets';
export { storeOrdersExtension } from '../store-orders';
