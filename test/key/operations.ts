import { ALWAYS, type ModuleOperations, ONE, type Rejection } from '../support/module-operations';

const { 304: _tagged, 403: _scoped, ...CODES } = { ...ONE, ...ALWAYS };

export const operations: ModuleOperations = {
  getKey: {
    route: 'get /key',
    // Only a request without a valid key counts in a window: that of its address.
    codes: { ...CODES, 429: ['rate_limit_exceeded'] },
    scopes: [],
    isExtension: true,
    isUntagged: true,
  },
};

export const rejections: readonly Rejection[] = [];
